// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/share/picture_file.h"

#include <QBuffer>
#include <QFileInfo>
#include <QImage>
#include <QPainter>
#include <QPdfWriter>

#include "traces/format/core/error.h"
#include "traces/format/core/output_file.h"

namespace ringscope::viz {
namespace {

constexpr double kDensity = 2;        // dots of a PNG per pixel of the view
constexpr int kViewDotsPerInch = 96;  // of a view
constexpr int kSharpness = 8;         // dots of a PDF per pixel of the view
constexpr double kPointsPerDot = 72.0 / kViewDotsPerInch;

QByteArray svgBytes(View& view) {
  Definitions definitions;
  ShapeRecorder recorder(view.pageSize(), definitions);
  QPainter painter(&recorder);
  view.drawPage(painter);
  painter.end();
  const QByteArray width = svgNumber(view.pageSize().width()),
                   height = svgNumber(view.pageSize().height());
  QByteArray svg = "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"" + width + "\" height=\"" +
                   height + "\" viewBox=\"0 0 " + width + " " + height +
                   "\" fill=\"none\" fill-rule=\"evenodd\" stroke-linecap=\"square\" "
                   "stroke-linejoin=\"bevel\" font-family=\"Inter, sans-serif\" "
                   "xml:space=\"preserve\">\n<title>" +
                   escapeMarkup(view.accessibleName()) + "</title>\n<defs>" + definitions.markup() +
                   "</defs>\n";
  for (const Shape& shape : recorder.shapes()) {
    Shape styled = shape;
    if (!shape.style.isEmpty()) styled.geometry += " style=\"" + shape.style + "\"";
    svg += elementMarkup(styled, {}) + "\n";
  }
  return svg + "</svg>\n";
}

QByteArray pngBytes(View& view) {
  QImage image((view.pageSize() * kDensity).toSize(), QImage::Format_RGB32);
  image.setDevicePixelRatio(kDensity);
  QPainter painter(&image);
  painter.setRenderHint(QPainter::Antialiasing);
  view.drawPage(painter);
  painter.end();
  QByteArray bytes;
  QBuffer buffer(&bytes);
  buffer.open(QIODevice::WriteOnly);
  image.save(&buffer, "PNG");
  return bytes;
}

QByteArray pdfBytes(View& view) {
  QBuffer buffer;
  buffer.open(QIODevice::WriteOnly);
  QPdfWriter writer(&buffer);
  writer.setPageSize(QPageSize(view.pageSize() * kPointsPerDot, QPageSize::Point));
  writer.setPageMargins(QMarginsF());
  writer.setResolution(kViewDotsPerInch * kSharpness);
  writer.setTitle(view.accessibleName());
  writer.setCreator("RingScope");
  QPainter painter(&writer);
  painter.scale(kSharpness, kSharpness);
  view.drawPage(painter);
  painter.end();
  return buffer.data();
}

}  // namespace

void writePicture(const Session& session, const PictureChoice& choice, const std::string& output) {
  using Draw = QByteArray (*)(View & view);
  const QString suffix = QFileInfo(QString::fromStdString(output)).suffix().toLower();
  const Draw draw = suffix == "svg"   ? svgBytes
                    : suffix == "pdf" ? pdfBytes
                    : suffix == "png" ? pngBytes
                                      : nullptr;
  if (!draw) throw usageError(output + ": the name of a picture ends in .svg, .pdf or .png");
  const Theme& theme = Theme::named(choice.theme);
  const ViewEntry entry = sharedEntries({choice.view}).front();
  const int moment = sharedMoments(session, {{}, choice.at, {}}, 1).first;
  traces::checkWritable(output);
  DrawnView drawn(session, entry);
  drawn.goTo(moment);
  drawn.view().setTheme(theme);
  const QByteArray bytes = draw(drawn.view());
  traces::OutputFile file(output);
  file.stream().write(bytes.constData(), bytes.size());
  file.finish();
}

}  // namespace ringscope::viz
