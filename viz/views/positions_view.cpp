// SPDX-License-Identifier: GPL-3.0-or-later
#include <QKeyEvent>
#include <QPainterPath>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>

#include "viz/scene/token_table.h"
#include "viz/style/face.h"
#include "viz/views/positions_painter.h"
#include "viz/views/view.h"

namespace ringscope::viz {
namespace {

constexpr double kLeft = 132, kCell = 46, kPitch = 24;

QString shapeText(const std::vector<std::int64_t>& shape) {
  QStringList sizes;
  for (const auto size : shape) sizes << QString::number(size);
  return "[" + sizes.join("×") + "]";
}

/// Every sharded buffer of the selected rank, token by token: what it is, beneath what it should
/// be. Above, all ranks over the whole sequence. ↑ ↓ or the wheel move along the tokens.
class PositionsView : public View {
 public:
  PositionsView(Hub& hub, QWidget* parent) : View(hub, parent) {
    setAccessibleName("Positions: tokens, position ids and labels of each rank's shard");
    setMinimumSize(320, 240);
    setMouseTracking(true);
    connect(&hub, &Hub::traceChanged, this, [this] { shown_ = {-1, -1}; });
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter p;
    begin(p);
    p.fillRect(page(), theme_->background);
    if (hub_.empty()) return note(p, page(), "No training step is recorded yet.");
    refresh();
    if (!table_.missing.empty())
      return note(p, page(),
                  "Not recorded; " + QString::fromStdString(table_.missing) + " would show it.");
    drawHead(p);
    paintPositionStrip(p, strip(), rows_, *theme_);
    drawBuffers(p, strip().bottom() + (compact() ? 2 : 10));
    drawTokens(p);
  }

  void mousePressEvent(QMouseEvent* event) override {
    const QPointF at = onPage(event->position());
    if (strip().contains(at)) {
      const auto row = static_cast<int>((at.y() - strip().top() - 27) / rowPitch());
      hub_.selectRank(std::clamp(row, 0, hub_.trace().worldSize() - 1));
      refresh();
      const double share = (at.x() - 84) / (pageWidth() - 24 - 84);
      first_ = static_cast<int>(share * static_cast<double>(table_.cells.size())) - visible() / 2;
    }
    update();
  }
  void wheelEvent(QWheelEvent* event) override {
    first_ -= (event->angleDelta().y() + event->angleDelta().x()) / 40;
    update();
  }
  void keyPressEvent(QKeyEvent* event) override {
    const int by = event->key() == Qt::Key_Down       ? 1
                   : event->key() == Qt::Key_Up       ? -1
                   : event->key() == Qt::Key_PageDown ? visible()
                   : event->key() == Qt::Key_PageUp   ? -visible()
                                                      : 0;
    if (by == 0) return View::keyPressEvent(event);
    first_ += by;
    update();
  }

 private:
  int across() const { return std::max(4, static_cast<int>((pageWidth() - kLeft - 24) / kCell)); }
  /// As many bands of tokens as have room.
  int bands() const {
    return std::max(1, static_cast<int>((pageHeight() - tokensTop() + 24) / (7 * kPitch + 32)));
  }
  int visible() const { return across() * bands(); }
  double tokensTop() const { return strip().bottom() + (compact() ? 106 : 124); }
  bool compact() const { return pageHeight() < 560; }
  double rowPitch() const {
    return std::min(22.0, (strip().height() - 36) / std::max(1, hub_.trace().worldSize()));
  }
  QRectF strip() const {
    const int ranks = std::clamp(hub_.trace().worldSize(), 1, 8);
    return {0, compact() ? 36.0 : 58.0, pageWidth(), 36 + (compact() ? 15.0 : 22.0) * ranks};
  }

  void refresh() {
    const std::pair now{hub_.place().train_step, hub_.selectedRank()};
    if (now == shown_ && table_.missing.empty()) {
      clampFirst();
      return;
    }
    if (now.first != shown_.first) rows_ = positionRows(hub_.trace(), now.first);
    shown_ = now;
    table_ = tokenTable(hub_.trace(), now.first, now.second);
    clampFirst();
  }
  void clampFirst() {
    first_ = std::clamp(first_, 0, std::max(0, static_cast<int>(table_.cells.size()) - visible()));
  }

  void drawHead(QPainter& p) const {
    p.setPen(theme_->text);
    p.setFont(textFont(17, QFont::DemiBold));
    p.drawText(QRectF(24, 12, pageWidth() - 48, 24), Qt::AlignVCenter,
               QString("rank %1 · step %2 · tokens %3 to %4 of its %5")
                   .arg(table_.rank)
                   .arg(hub_.place().train_step)
                   .arg(first_)
                   .arg(std::min<std::size_t>(first_ + visible(), table_.cells.size()) - 1)
                   .arg(table_.cells.size()));
    if (compact()) return;
    p.setPen(theme_->dim);
    p.setFont(textFont(12));
    p.drawText(QRectF(24, 36, pageWidth() - 48, 18), Qt::AlignVCenter,
               "↑ ↓, Page Up, Page Down or the wheel: along the tokens · 1–8: another rank · click "
               "a bar to go there");
  }

  void drawBuffers(QPainter& p, double y) const {
    p.setFont(textFont(11, QFont::DemiBold));
    p.setPen(theme_->dim);
    p.drawText(QRectF(24, y, 300, 18), Qt::AlignVCenter, "BUFFERS OF THIS RANK");
    y += 20;
    for (const BufferLane& lane : table_.buffers) {
      p.setFont(monoFont(12));
      p.setPen(theme_->text);
      p.drawText(QRectF(24, y, 120, 20), Qt::AlignVCenter, QString::fromStdString(lane.name));
      p.setFont(textFont(12));
      p.setPen(lane.sharded ? theme_->dim : theme_->wrong);
      p.drawText(QRectF(150, y, pageWidth() * 0.68 - 150, 20), Qt::AlignVCenter,
                 lane.sharded ? QString("sharded: %1 of %2")
                                    .arg(shapeText(lane.local_shape), shapeText(lane.full_shape))
                              : QString("▲ not sharded: the rank made %1 by itself")
                                    .arg(shapeText(lane.local_shape)));
      p.setPen(lane.wrong ? theme_->wrong : theme_->right);
      p.drawText(QRectF(pageWidth() * 0.68, y, pageWidth() * 0.32 - 24, 20),
                 Qt::AlignVCenter | Qt::AlignRight, verdict(lane));
      y += 20;
    }
  }

  static QString verdict(const BufferLane& lane) {
    if (lane.compared == 0) return "– nothing to compare with";
    return lane.wrong ? QString("▲ %1 of %2 differ").arg(lane.wrong).arg(lane.compared)
                      : QString("✓ %1 as they should be").arg(lane.compared);
  }

  void drawTokens(QPainter& p) const {
    const auto count = static_cast<int>(table_.cells.size());
    for (int band = 0; band < bands(); ++band) {
      const int begin = first_ + band * across(), end = std::min(count, begin + across());
      const double top = tokensTop() + band * (7 * kPitch + 32);
      if (begin >= end) return;
      drawLaneNames(p, top);
      for (int i = begin; i < end; ++i)
        drawToken(p, table_.cells[static_cast<std::size_t>(i)], kLeft + kCell * (i - begin), top,
                  kPitch, i + 1 < end);
    }
  }

  void drawLaneNames(QPainter& p, double top) const {
    static const char* const kLanes[] = {"global index", "token", "position id",
                                         "should be",    "label", "next token"};
    for (int lane = 0; lane < 6; ++lane) {
      const bool ours = lane == 2 || lane == 4;
      p.setFont(textFont(12, ours ? QFont::DemiBold : QFont::Normal));
      p.setPen(ours ? theme_->text : theme_->dim);
      p.drawText(QRectF(24, laneY(top, kPitch, lane), kLeft - 36, kPitch), Qt::AlignVCenter,
                 kLanes[lane]);
    }
  }
  /// Labels stand apart, so that there is room for the arrow to the token that they predict.
  static double laneY(double top, double pitch, int lane) {
    return top + pitch * (lane + (lane >= 4 ? 1 : 0));
  }

  void drawToken(QPainter& p, const TokenCell& cell, double x, double top, double pitch,
                 bool next_is_shown) const {
    const auto vocabulary = vocabularySize();
    auto box = [&](int lane) {
      return QRectF(x + 1, laneY(top, pitch, lane) + 1, kCell - 2, pitch - 2);
    };
    if (cell.begins_chunk || cell.begins_document) drawBorder(p, x, top, pitch, cell);
    text(p, box(0), QString::number(cell.global), theme_->dim);
    p.setPen(Qt::NoPen);
    p.setBrush(theme_->raised);
    p.drawRoundedRect(box(1), 3, 3);
    if (cell.token) text(p, box(1), tokenText(*cell.token, vocabulary).c_str(), theme_->text);
    drawValue(p, box(2), cell.position ? QString::number(*cell.position) : "–",
              cell.positionWrong());
    text(p, box(3), QString::number(cell.should_position), theme_->dim);
    drawValue(p, box(4), cell.label ? tokenText(*cell.label, vocabulary).c_str() : "–",
              cell.labelWrong());
    text(p, box(5), cell.should_label ? tokenText(*cell.should_label, vocabulary).c_str() : "?",
         theme_->dim);
    if (cell.label && *cell.label >= 0) drawArrow(p, box(4), next_is_shown && !cell.labelWrong());
  }

  /// From the label up to the token that it predicts, one cell to the right.
  void drawArrow(QPainter& p, const QRectF& label, bool here) const {
    if (!here) return;
    const QPointF from(label.center().x(), label.top() - 1);
    const QPointF to(label.center().x() + kCell * 0.78, label.top() - label.height() + 4);
    QPainterPath path(from);
    path.cubicTo(from + QPointF(0, -label.height() / 2), to + QPointF(0, label.height() / 2), to);
    p.setPen(QPen(theme_->faint, 1));
    p.setBrush(Qt::NoBrush);
    p.drawPath(path);
    p.setPen(Qt::NoPen);
    p.setBrush(theme_->faint);
    p.drawPolygon(QPolygonF{to + QPointF(0, -4), to + QPointF(-3, 2), to + QPointF(3, 2)});
  }

  void drawBorder(QPainter& p, double x, double top, double pitch, const TokenCell& cell) const {
    p.setPen(cell.begins_chunk ? QPen(rankColor(table_.rank), 2)
                               : QPen(theme_->text, 1.5, Qt::DashLine));
    p.drawLine(QPointF(x, top - 4), QPointF(x, laneY(top, pitch, 5) + pitch));
    p.setFont(textFont(11, QFont::DemiBold));
    p.setPen(theme_->dim);
    p.drawText(QRectF(x + 4, top - 20, 240, 16), Qt::AlignVCenter,
               QString(cell.begins_chunk && cell.begins_document ? "chunk and document begin at %1"
                       : cell.begins_chunk                       ? "chunk begins at %1"
                                                                 : "document begins at %1")
                   .arg(cell.global));
  }

  void drawValue(QPainter& p, const QRectF& box, const QString& words, bool wrong) const {
    p.setPen(wrong ? QPen(theme_->wrong, 1.5) : QPen(theme_->line, 1));
    p.setBrush(theme_->panel);
    p.drawRoundedRect(box, 3, 3);
    if (wrong) {
      QColor hatch = theme_->wrong;
      hatch.setAlpha(70);
      p.setPen(Qt::NoPen);
      p.setBrush(QBrush(hatch, Qt::BDiagPattern));
      p.drawRoundedRect(box, 3, 3);
    }
    text(p, box, words, wrong ? theme_->wrong : theme_->text);
  }

  void text(QPainter& p, const QRectF& box, const QString& words, const QColor& color) const {
    p.setPen(color);
    p.setFont(monoFont(12));
    p.drawText(box, Qt::AlignCenter, words);
  }

  std::int64_t vocabularySize() const {
    const auto& run = hub_.trace().run();
    return run.contains("model") ? run["model"].value("vocab_size", std::int64_t{256}) : 256;
  }

  TokenTable table_;
  std::vector<PositionRow> rows_;
  std::pair<int, int> shown_{-1, -1};
  int first_ = 0;
};

}  // namespace

View* makePositionsView(Hub& hub, QWidget* parent) {
  return new PositionsView(hub, parent);
}

}  // namespace ringscope::viz
