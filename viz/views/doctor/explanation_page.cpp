// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/doctor/explanation_page.h"

#include <QBuffer>
#include <QPainter>
#include <QPdfWriter>
#include <QSaveFile>

#include "traces/format/core/error.h"

namespace ringscope::viz {

void writeExplanationPage(const QString& path, const traces::Explanation& explanation,
                          const ExplanationPicture& picture) {
  constexpr double kDotsPerInch = 96, kSharpness = 1200 / kDotsPerInch;
  const QPageSize paper(QPageSize::A4);
  const QMarginsF margins(16, 14, 16, 14);  // mm
  QBuffer page;
  page.open(QIODevice::WriteOnly);
  QPdfWriter writer(&page);
  writer.setPageSize(paper);
  writer.setPageMargins(margins, QPageLayout::Millimeter);
  writer.setResolution(static_cast<int>(kDotsPerInch * kSharpness));
  writer.setTitle(QString::fromStdString(explanation.title));
  writer.setCreator("RingScope");
  const QSizeF room =
      QSizeF(writer.pageLayout().paintRectPixels(writer.resolution()).size()) / kSharpness;
  QTextDocument document;
  const double scale = fitExplanation(document, explanation, picture, room);
  QPainter painter(&writer);
  painter.scale(kSharpness * scale, kSharpness * scale);
  document.drawContents(&painter);
  painter.end();
  QSaveFile file(path);
  if (!file.open(QIODevice::WriteOnly) || file.write(page.data()) != page.size() || !file.commit())
    throw inputError(path.toStdString() +
                     " cannot be written: " + file.errorString().toStdString());
}

}  // namespace ringscope::viz
