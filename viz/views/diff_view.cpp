// SPDX-License-Identifier: GPL-3.0-or-later
#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>

#include "viz/style/face.h"
#include "viz/views/error_map_painter.h"
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

constexpr std::pair<ErrorUnit, const char*> kUnits[] = {{ErrorUnit::kAbsolute, "absolute"},
                                                        {ErrorUnit::kRelative, "relative"},
                                                        {ErrorUnit::kUlp, "ULP"}};

/// Layers × tensors of the viewed training step, in multiples of the noise floor; the worst of the
/// rest; and where in the chosen tensor its error lies. N goes to the next divergence, U changes
/// the unit.
class DiffView : public View {
 public:
  DiffView(Hub& hub, QWidget* parent) : View(hub, parent) {
    setAccessibleName("Diff: errors against unsharded attention in multiples of one device's own");
    setMinimumSize(320, 240);
  }

 protected:
  void paintEvent(QPaintEvent*) override {
    QPainter p;
    begin(p);
    p.fillRect(page(), theme_->background);
    hits_.clear();
    std::vector<const DiffRecord*> step;
    for (const DiffRecord& diff : hub_.trace().diffs())
      if (diff.place.train_step == hub_.place().train_step) step.push_back(&diff);
    if (step.empty())
      return note(p, page(),
                  hub_.live() ? "This step has not been compared yet."
                              : "Not recorded; a run with --verify would show it.");
    double y = 14;
    for (const Table& table : kTables) y = drawTable(p, table, step, y);
    if (wide()) {
      drawRest(p, step, y);
      drawWhere(
          p, QRectF(tablesWidth() + 16, 14, pageWidth() - tablesWidth() - 40, pageHeight() - 28));
    } else {
      drawWhere(p, QRectF(24, y, pageWidth() - 48, pageHeight() - y - 8));
    }
  }
  void mousePressEvent(QMouseEvent* event) override {
    const QPointF at = onPage(event->position());
    for (const Hit& hit : hits_)
      if (hit.box.contains(at)) {
        hub_.setPlace(hit.place);
        hub_.selectTensor(hit.tensor);
        return;
      }
    for (std::size_t u = 0; u < std::size(kUnits); ++u)
      if (unit_boxes_[u].contains(at)) unit_ = u;
    update();
  }
  void keyPressEvent(QKeyEvent* event) override {
    if (event->key() != Qt::Key_U) return View::keyPressEvent(event);
    unit_ = (unit_ + 1) % std::size(kUnits);
    update();
  }

 private:
  struct Hit {
    QRectF box;
    Place place;
    QString tensor;
  };
  bool wide() const { return pageWidth() > 1000; }
  double tablesWidth() const { return wide() ? pageWidth() * 0.52 : pageWidth(); }

  /// Where in the chosen tensor of the viewed layer the error lies.
  void drawWhere(QPainter& p, const QRectF& area) {
    const std::string tensor = hub_.tensor().toStdString();
    const ErrorUnit unit = kUnits[unit_].first;
    const ErrorMap map = errorMap(hub_.trace(), hub_.place(), tensor, unit);
    p.setFont(textFont(15, QFont::DemiBold));
    p.setPen(theme_->text);
    p.drawText(QRectF(area.left(), area.top(), area.width(), 22), Qt::AlignVCenter,
               QString("%1 of layer %2, isolated").arg(hub_.tensor()).arg(hub_.place().layer));
    drawUnits(p, area);
    const QRectF rest = area.adjusted(0, 30, 0, 0);
    if (!map.missing.empty())
      return note(p, rest,
                  QString::fromStdString("Not recorded; " + map.missing + " would show it."));
    const double histogram = std::min(120.0, rest.height() * 0.34);
    paintErrorMap(p, rest.adjusted(0, 0, 0, -histogram - 8), map, unit, *theme_);
    paintErrorHistogram(p, QRectF(rest.left(), rest.bottom() - histogram, rest.width(), histogram),
                        map, unit, *theme_);
  }

  void drawUnits(QPainter& p, const QRectF& area) {
    double x = area.right();
    p.setFont(textFont(12));
    for (std::size_t u = std::size(kUnits); u-- > 0;) {
      const double w = p.fontMetrics().horizontalAdvance(kUnits[u].second) + 18;
      unit_boxes_[u] = QRectF(x - w, area.top() - 1, w, 24);
      p.setPen(QPen(u == unit_ ? theme_->accent : theme_->line, 1));
      p.setBrush(u == unit_ ? theme_->accent : theme_->raised);
      p.drawRoundedRect(unit_boxes_[u], 6, 6);
      p.setPen(u == unit_ ? theme_->on_accent : theme_->text);
      p.drawText(unit_boxes_[u], Qt::AlignCenter, kUnits[u].second);
      x -= w + 4;
    }
  }

  static bool wrong(const DiffRecord& diff) { return !(diff.multiple <= traces::kNoiseLimit); }

  void title(QPainter& p, const QString& head, const QString& words, double y) const {
    p.setFont(textFont(15, QFont::DemiBold));
    p.setPen(theme_->text);
    p.drawText(QRectF(24, y, tablesWidth() - 48, 22), Qt::AlignVCenter, head);
    const double shift = p.fontMetrics().horizontalAdvance(head) + 12;
    p.setFont(textFont(12));
    p.setPen(theme_->dim);
    p.drawText(QRectF(24 + shift, y + 1, tablesWidth() - 48 - shift, 22), Qt::AlignVCenter,
               p.fontMetrics().elidedText(words, Qt::ElideRight,
                                          static_cast<int>(tablesWidth() - 48 - shift)));
  }

  double drawTable(QPainter& p, const Table& table, const std::vector<const DiffRecord*>& step,
                   double y) {
    title(p, table.title, table.note, y);
    y += 26;
    int layers = 0;
    for (const DiffRecord* diff : step) layers = std::max(layers, diff->place.layer + 1);
    const double left = 92, pitch = std::min(110.0, (tablesWidth() - left - 24) /
                                                        static_cast<double>(table.tensors.size()));
    const double height =
        std::clamp((pageHeight() - 260.0) / (2 * std::max(1, layers)), 20.0, 34.0);
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
    const bool chosen = diff.isolated && hub_.tensor().toStdString() == diff.tensor &&
                        hub_.place().layer == diff.place.layer;
    p.setPen(QPen(chosen        ? theme_->accent
                  : wrong(diff) ? theme_->wrong
                                : theme_->line,
                  chosen        ? 2
                  : wrong(diff) ? 1.5
                                : 1));
    p.setBrush(theme_->raised);
    p.drawRoundedRect(box, 4, 4);
    p.setPen(wrong(diff) ? theme_->wrong : theme_->right);
    p.setFont(monoFont(12, wrong(diff) ? QFont::Bold : QFont::Normal));
    p.drawText(box, Qt::AlignCenter,
               (wrong(diff) ? "▲ " : "") +
                   QString::fromStdString(traces::describeMultiple(diff.multiple)));
    Place place = diff.place;
    place.stage = 0;
    hits_.push_back({box, place, QString::fromStdString(diff.tensor)});
  }

  void drawRest(QPainter& p, std::vector<const DiffRecord*> step, double y) const {
    std::erase_if(step, [](const DiffRecord* diff) { return diff->place.layer >= 0; });
    std::stable_sort(step.begin(), step.end(), [](const DiffRecord* a, const DiffRecord* b) {
      return a->multiple > b->multiple;
    });
    title(p, "Loss and gradients of parameters", "worst first", y);
    y += 28;
    for (const DiffRecord* diff : step) {
      if (y + 20 > pageHeight()) return;
      const QRectF row(24, y, tablesWidth() - 48, 20);
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

  std::vector<Hit> hits_;
  QRectF unit_boxes_[std::size(kUnits)];
  std::size_t unit_ = 0;
};

}  // namespace

View* makeDiffView(Hub& hub, QWidget* parent) {
  return new DiffView(hub, parent);
}

}  // namespace ringscope::viz
