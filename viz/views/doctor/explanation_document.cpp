// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/doctor/explanation_document.h"

#include <QTextBlock>
#include <QTextCursor>
#include <QTextFragment>
#include <algorithm>
#include <cmath>

namespace ringscope::viz {
namespace {

const char* const kPicture = "picture:view";

QString text(const std::string& words) {
  return QString::fromStdString(words);
}

/// Words that are no Markdown: a file may have any name.
QString escaped(const QString& words) {
  QString safe;
  for (const QChar c : words) {
    if (c.unicode() < 128 && (c.isPunct() || c.isSymbol())) safe += '\\';
    safe += c;
  }
  return safe;
}

QString markdownOf(const traces::Explanation& e, const ExplanationPicture& picture,
                   bool has_title) {
  QString all;
  if (has_title) all += "# " + text(e.title) + "\n\n";
  all += "## What happens\n\n" + text(e.what_happens) + "\n\n";
  if (!picture.evidence.empty())
    all += "## In this recording\n\n" + escaped(text(picture.evidence)) + "\n\n";
  if (!picture.image.isNull()) all += "*" + escaped(picture.caption) + "*\n\n";
  if (!e.remedies.empty()) all += "## How to fix it\n\n";
  for (const auto& remedy : e.remedies)
    all += "### " + text(remedy.framework) + "\n\n" + text(remedy.text) + "\n\n";
  if (!e.how_to_see.empty())
    all += (e.in_sample_run
                ? "## How to see it in RingScope's sample run\n\n" + text(traces::kFiguresOfSample)
                : QString("## How to see it in a recording")) +
           "\n\n" + text(e.how_to_see) + "\n\n";
  if (!e.reported_in.empty()) all += "## Reported in\n\n" + text(e.reported_in) + "\n";
  return all;
}

/// Type, colour and gaps of one paragraph, by what it is.
class Setter {
 public:
  Setter(const ExplanationLayout& layout, const Theme& theme) : layout_(layout), theme_(theme) {}

  void set(const QTextBlock& block) const {
    QTextCursor at(block);
    const bool code = isCode(block);
    setBlock(at, block, code);
    for (auto part = block.begin(); !part.atEnd(); ++part) {
      const QTextFragment fragment = part.fragment();
      at.setPosition(fragment.position());
      at.setPosition(fragment.position() + fragment.length(), QTextCursor::KeepAnchor);
      setText(at, fragment.charFormat(), block.blockFormat().headingLevel(), code);
    }
  }

 private:
  int px(double size) const { return static_cast<int>(std::lround(size * layout_.zoom)); }

  void setBlock(QTextCursor& at, const QTextBlock& block, bool code) const {
    const int level = block.blockFormat().headingLevel();
    QTextBlockFormat format = block.blockFormat();
    const bool first = block.blockNumber() == 0;
    format.setTopMargin(px(first ? 0 : level == 2 ? 12 : level == 3 ? 6 : 0));
    // Lines of code stand close; what follows the last of them has its own gap.
    format.setBottomMargin(px(code ? 0 : level > 0 ? 3 : block.textList() ? 1 : 6));
    if (code) {
      const QTextBlock after = block.next(), before = block.previous();
      if (!isCode(after)) format.setBottomMargin(px(8));
      if (!isCode(before)) format.setTopMargin(px(2));
      format.setBackground(theme_.raised);
      format.setNonBreakableLines(false);
    }
    format.setLineHeight(code ? 100 : 112, QTextBlockFormat::ProportionalHeight);
    at.setBlockFormat(format);
  }
  static bool isCode(const QTextBlock& block) {
    return block.isValid() && block.blockFormat().hasProperty(QTextFormat::BlockCodeFence);
  }

  void setText(QTextCursor& at, const QTextCharFormat& was, int level, bool code) const {
    if (was.isImageFormat()) return;
    const bool mono = code || was.fontFixedPitch();
    QFont font = mono         ? monoFont(px(12))
                 : level == 1 ? textFont(px(17), QFont::DemiBold)
                 : level == 2 ? textFont(px(14), QFont::DemiBold)
                 : level == 3 ? textFont(px(12), QFont::DemiBold)
                              : textFont(px(13));
    if (was.fontItalic()) font = textFont(px(12));
    if (was.fontWeight() >= QFont::Bold && level == 0) font.setWeight(QFont::DemiBold);
    QTextCharFormat format;
    format.setFont(font);
    format.setForeground(was.isAnchor()                   ? theme_.accent
                         : was.fontItalic() || level == 3 ? theme_.dim
                                                          : theme_.text);
    if (was.isAnchor()) {
      format.setAnchor(true);
      format.setAnchorHref(was.anchorHref());
    }
    at.setCharFormat(format);
  }

  const ExplanationLayout& layout_;
  const Theme& theme_;
};

/// Puts the picture above its caption.
void insertPicture(QTextDocument& document, const ExplanationPicture& picture,
                   const ExplanationLayout& layout) {
  QTextCursor at = document.find(picture.caption);
  if (picture.image.isNull() || at.isNull()) return;
  const double ratio = picture.image.devicePixelRatio();
  const double width = std::min(layout.width, layout.picture_width * layout.zoom);
  // A document draws what it has to shrink without smoothing.
  QImage image =
      picture.image.scaledToWidth(static_cast<int>(width * ratio), Qt::SmoothTransformation);
  image.setDevicePixelRatio(ratio);
  document.addResource(QTextDocument::ImageResource, QUrl(kPicture), image);
  QTextImageFormat format;
  format.setName(kPicture);
  format.setWidth(image.width() / ratio);
  format.setHeight(image.height() / ratio);
  at.movePosition(QTextCursor::StartOfBlock);
  at.insertBlock();
  at.movePosition(QTextCursor::PreviousBlock);
  QTextBlockFormat block;
  block.setBottomMargin(4 * layout.zoom);
  at.setBlockFormat(block);
  at.insertImage(format);
}

}  // namespace

void setParagraphs(QTextDocument& document, const ExplanationLayout& layout, const Theme& theme) {
  const Setter setter(layout, theme);
  for (QTextBlock block = document.begin(); block.isValid(); block = block.next())
    setter.set(block);
}

void fillExplanation(QTextDocument& document, const traces::Explanation& explanation,
                     const ExplanationPicture& picture, const ExplanationLayout& layout,
                     const Theme& theme) {
  document.clear();
  document.setDefaultFont(textFont(static_cast<int>(std::lround(13 * layout.zoom))));
  document.setDocumentMargin(0);
  document.setIndentWidth(18 * layout.zoom);
  document.setTextWidth(layout.width);
  const QTextDocument::MarkdownFeatures plain = QTextDocument::MarkdownFeature(
      QTextDocument::MarkdownDialectCommonMark | QTextDocument::MarkdownNoHTML);
  document.setMarkdown(markdownOf(explanation, picture, layout.has_title), plain);
  setParagraphs(document, layout, theme);
  insertPicture(document, picture, layout);
}

double fitExplanation(QTextDocument& document, const traces::Explanation& explanation,
                      const ExplanationPicture& picture, const QSizeF& room) {
  constexpr double kStep = 0.02, kSmallest = 0.4, kPictureWidth = 520;
  for (double scale = 1;; scale -= kStep) {
    fillExplanation(document, explanation, picture,
                    {.width = room.width() / scale, .picture_width = kPictureWidth},
                    Theme::named("light"));
    if (document.size().height() * scale <= room.height() || scale < kSmallest) return scale;
  }
}

}  // namespace ringscope::viz
