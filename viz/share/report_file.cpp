// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/share/report_file.h"

#include <QAbstractTextDocumentLayout>
#include <QBuffer>
#include <QFileInfo>
#include <QPainter>
#include <QPdfWriter>
#include <QTextDocument>
#include <QUrl>

#include "traces/analysis/report/finding_place.h"
#include "traces/format/core/output_file.h"
#include "viz/share/share_page.h"
#include "viz/views/doctor/view_picture.h"

namespace ringscope::viz {
namespace {

constexpr double kPictureDensity = 2;  // dots per logical pixel

QImage pictureFor(const Session& session, const traces::Finding& finding) {
  Cursor cursor;
  cursor.place = traces::placeFor(finding);
  cursor.phase = 0.5;  // blocks are on their way
  if (finding.rank.exists()) cursor.rank = finding.rank;
  if (!finding.buffer.empty()) cursor.tensor = finding.buffer;
  return drawPicture(session, QString::fromStdString(traces::viewFor(finding)), cursor,
                     Theme::named("light"), kPictureDensity);
}

std::string captionFor(const traces::Finding& finding) {
  return "The view " + traces::viewFor(finding) + " at " +
         traces::describe(traces::placeFor(finding));
}

void writeBytes(const std::string& path, const QByteArray& bytes) {
  traces::OutputFile file(path);
  file.stream().write(bytes.constData(), bytes.size());
  file.finish();
}

QByteArray pngBytes(const QImage& image) {
  QByteArray png;
  QBuffer buffer(&png);
  buffer.open(QIODevice::WriteOnly);
  image.save(&buffer, "PNG");
  return png;
}

void setPage(QPdfWriter& writer, const QString& title) {
  constexpr int kDotsPerInch = 1200;
  writer.setPageSize(QPageSize(QPageSize::A4));
  writer.setPageMargins(QMarginsF(16, 14, 16, 14), QPageLayout::Millimeter);
  writer.setResolution(kDotsPerInch);
  writer.setTitle(title);
  writer.setCreator("RingScope");
}

/// Draws a document page by page.
void paintPages(QTextDocument& document, QPdfWriter& writer, double scale, const QSizeF& room) {
  QPainter painter(&writer);
  for (int page = 0; page < document.pageCount(); ++page) {
    if (page > 0) writer.newPage();
    painter.save();
    painter.scale(scale, scale);
    painter.translate(0, -page * room.height());
    document.drawContents(&painter, QRectF(QPointF(0, page * room.height()), room));
    painter.restore();
  }
}

QByteArray pdfBytes(const traces::Report& report, const std::vector<QImage>& pictures) {
  constexpr double kTextDotsPerInch = 110;
  QBuffer pages;
  pages.open(QIODevice::WriteOnly);
  QPdfWriter writer(&pages);
  setPage(writer, "Report on " + QString::fromStdString(report.recording));
  const double scale = writer.resolution() / kTextDotsPerInch;
  const QSizeF room =
      QSizeF(writer.pageLayout().paintRectPixels(writer.resolution()).size()) / scale;
  QTextDocument document;
  document.setDefaultFont(textFont(13));
  document.setDocumentMargin(0);
  document.setMarkdown(QString::fromStdString(traces::toMarkdown(report)),
                       QTextDocument::MarkdownFeature(QTextDocument::MarkdownDialectCommonMark |
                                                      QTextDocument::MarkdownNoHTML));
  setParagraphs(document, {.width = room.width()}, Theme::named("light"));
  for (std::size_t i = 0; i < pictures.size(); ++i) {
    QImage image = pictures[i].scaledToWidth(static_cast<int>(room.width() * kPictureDensity),
                                             Qt::SmoothTransformation);
    image.setDevicePixelRatio(kPictureDensity);
    document.addResource(QTextDocument::ImageResource,
                         QUrl(QString::fromStdString(report.pictures[i].file)), image);
  }
  document.setPageSize(room);
  paintPages(document, writer, scale, room);
  return pages.data();
}

}  // namespace

WrittenReport writeReport(const Session& session, const std::string& recording,
                          const std::string& output) {
  const QFileInfo file(QString::fromStdString(output));
  const bool pdf = file.suffix().compare("pdf", Qt::CaseInsensitive) == 0;
  traces::Report report = makeReport(session, recording);
  std::vector<QImage> images;
  for (const traces::Finding& finding : report.diagnosis.findings()) {
    images.push_back(pictureFor(session, finding));
    const QString name = QString("%1-%2.png").arg(file.completeBaseName()).arg(images.size());
    report.pictures.push_back({name.toStdString(), captionFor(finding)});
  }
  if (pdf) {
    writeBytes(output, pdfBytes(report, images));
  } else {
    traces::checkWritable(output);
    for (std::size_t i = 0; i < images.size(); ++i)
      writeBytes((file.path() + "/").toStdString() + report.pictures[i].file, pngBytes(images[i]));
    writeBytes(output, QByteArray::fromStdString(traces::toMarkdown(report)));
  }
  const auto count = static_cast<int>(images.size());
  return {count, count};
}

}  // namespace ringscope::viz
