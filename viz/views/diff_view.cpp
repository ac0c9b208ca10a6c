// SPDX-License-Identifier: GPL-3.0-or-later
#include <QMouseEvent>
#include <QPainter>

#include "viz/style/face.h"
#include "viz/views/view.h"

namespace ringscope::viz {
namespace {

using traces::DiffRecord;

struct Table {
  QString title, note;
  bool isolated;
  std::vector<std::string> tensors;
};

const Table kTables[] = {
    {"Isolated",
     "each layer's own q, k, v, dout through unsharded attention in fp64: where an error is born",
     true,
     {"out", "lse", "dv", "dk", "dq"}},
    {"End to end",
     "the whole step without sharding, from the same weights: what reaches it",
     false,
     {"q", "k", "v", "out", "lse", "dout", "dv", "dk", "dq"}},
};

/// Layers × tensors of the viewed training step, in multiples of the noise floor; then the worst of
/// the rest.
class DiffView : public View {
 public:
  DiffView(Hub& hub, QWidget* parent) : View(hub, parent) {
    setAccessibleName("Diff: errors against unsharded attention in multiples of one device's own");
    setMinimumSize(480, 300);
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter p(this);
    p.setRenderHint(QPainter::Antialiasing);
    p.fillRect(rect(), theme_->background);
    hits_.clear();
    std::vector<const DiffRecord*> step;
    for (const DiffRecord& diff : hub_.trace().diffs())
      if (diff.place.train_step == hub_.place().train_step) step.push_back(&diff);
    if (step.empty()) {
      p.setPen(theme_->dim);
      p.setFont(textFont(15));
      p.drawText(rect(), Qt::AlignCenter,
                 hub_.live() ? "This step has not been compared yet."
                             : "Not recorded; a run with --verify shows it.");
      return;
    }
    double y = 14;
    for (const Table& table : kTables) y = drawTable(p, table, step, y);
    drawRest(p, step, y);
  }
  void mousePressEvent(QMouseEvent* event) override {
    for (const auto& [box, place] : hits_)
      if (box.contains(event->position())) hub_.setPlace(place);
  }

 private:
  static bool wrong(const DiffRecord& diff) { return !(diff.multiple <= traces::kNoiseLimit); }

  void title(QPainter& p, const QString& head, const QString& note, double y) const {
    p.setFont(textFont(15, QFont::DemiBold));
    p.setPen(theme_->text);
    p.drawText(QRectF(24, y, width() - 48, 22), Qt::AlignVCenter, head);
    const double shift = p.fontMetrics().horizontalAdvance(head) + 12;
    p.setFont(textFont(12));
    p.setPen(theme_->dim);
    p.drawText(
        QRectF(24 + shift, y + 1, width() - 48 - shift, 22), Qt::AlignVCenter,
        p.fontMetrics().elidedText(note, Qt::ElideRight, static_cast<int>(width() - 48 - shift)));
  }

  double drawTable(QPainter& p, const Table& table, const std::vector<const DiffRecord*>& step,
                   double y) {
    title(p, table.title, table.note, y);
    y += 26;
    int layers = 0;
    for (const DiffRecord* diff : step) layers = std::max(layers, diff->place.layer + 1);
    const double left = 92, pitch = std::min(110.0, (width() - left - 24) /
                                                        static_cast<double>(table.tensors.size()));
    const double height =
        std::clamp((this->height() - 260.0) / (2 * std::max(1, layers)), 22.0, 34.0);
    p.setFont(monoFont(12));
    p.setPen(theme_->dim);
    for (std::size_t c = 0; c < table.tensors.size(); ++c)
      p.drawText(QRectF(left + static_cast<double>(c) * pitch, y, pitch - 4, 18), Qt::AlignCenter,
                 QString::fromStdString(table.tensors[c]));
    y += 20;
    for (int layer = 0; layer < layers; ++layer, y += height) {
      p.setPen(theme_->dim);
      p.setFont(textFont(12));
      p.drawText(QRectF(24, y, 64, height - 4), Qt::AlignVCenter, QString("layer %1").arg(layer));
      for (std::size_t c = 0; c < table.tensors.size(); ++c)
        for (const DiffRecord* diff : step)
          if (diff->isolated == table.isolated && diff->place.layer == layer &&
              diff->tensor == table.tensors[c])
            drawCell(p, QRectF(left + static_cast<double>(c) * pitch, y, pitch - 4, height - 4),
                     *diff);
    }
    return y + 12;
  }

  void drawCell(QPainter& p, const QRectF& box, const DiffRecord& diff) {
    p.setPen(QPen(wrong(diff) ? theme_->wrong : theme_->line, wrong(diff) ? 1.5 : 1));
    p.setBrush(theme_->raised);
    p.drawRoundedRect(box, 4, 4);
    p.setPen(wrong(diff) ? theme_->wrong : theme_->right);
    p.setFont(monoFont(12, wrong(diff) ? QFont::Bold : QFont::Normal));
    p.drawText(box, Qt::AlignCenter,
               (wrong(diff) ? "▲ " : "") +
                   QString::fromStdString(traces::describeMultiple(diff.multiple)));
    Place place = diff.place;
    place.stage = 0;
    hits_.emplace_back(box, place);
  }

  void drawRest(QPainter& p, std::vector<const DiffRecord*> step, double y) const {
    std::erase_if(step, [](const DiffRecord* diff) { return diff->place.layer >= 0; });
    std::stable_sort(step.begin(), step.end(), [](const DiffRecord* a, const DiffRecord* b) {
      return a->multiple > b->multiple;
    });
    title(p, "Loss and gradients of parameters", "worst first", y);
    y += 28;
    for (const DiffRecord* diff : step) {
      if (y + 20 > height()) return;
      const QRectF row(24, y, width() - 48, 20);
      p.setFont(textFont(12));
      p.setPen(theme_->text);
      p.drawText(row, Qt::AlignVCenter, QString::fromStdString(diff->tensor));
      p.setFont(monoFont(12));
      p.setPen(theme_->dim);
      p.drawText(
          row.adjusted(0, 0, -96, 0), Qt::AlignVCenter | Qt::AlignRight,
          QString("error %1  noise %2").arg(diff->error, 0, 'e', 1).arg(diff->noise, 0, 'e', 1));
      p.setPen(wrong(*diff) ? theme_->wrong : theme_->right);
      p.drawText(row, Qt::AlignVCenter | Qt::AlignRight,
                 (wrong(*diff) ? "▲ " : "") +
                     QString::fromStdString(traces::describeMultiple(diff->multiple)));
      y += 20;
    }
  }

  std::vector<std::pair<QRectF, Place>> hits_;
};

}  // namespace

View* makeDiffView(Hub& hub, QWidget* parent) {
  return new DiffView(hub, parent);
}

}  // namespace ringscope::viz
