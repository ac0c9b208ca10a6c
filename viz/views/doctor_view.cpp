// SPDX-License-Identifier: GPL-3.0-or-later
#include <QListView>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

#include "viz/models/findings_model.h"
#include "viz/views/view.h"

namespace ringscope::viz {
namespace {

/// Draws a finding as a card: what, the evidence in numbers, what to change, and where it shows.
class FindingCard : public QStyledItemDelegate {
 public:
  FindingCard(const FindingsModel& model, QObject* parent)
      : QStyledItemDelegate(parent), model_(model) {}
  const Theme* theme = &Theme::all().front();
  double zoom = 1;

  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const auto* row = model_.at(index.row());
    if (!row) return {};
    // Not the option's rectangle: it differs between layout and painting.
    const auto* list = qobject_cast<const QAbstractItemView*>(option.widget);
    const double w = textWidth(list ? list->viewport()->width() : 600);
    double h = 44 + textHeight(row->evidence, w, 13);
    if (!row->remedy.isEmpty()) h += 26 + textHeight(row->remedy, w, 13);
    if (!row->view.isEmpty()) h += 26;
    return {200, static_cast<int>(h * zoom) + 12};
  }

  void paint(QPainter* p, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    const auto* row = model_.at(index.row());
    if (!row) return;
    p->save();
    p->setRenderHint(QPainter::Antialiasing);
    p->translate(option.rect.topLeft());
    p->scale(zoom, zoom);
    const QRectF card(8, 4, option.rect.width() / zoom - 16, option.rect.height() / zoom - 10);
    drawGround(*p, card, *row, option.state & QStyle::State_Selected);
    drawWords(*p, card, *row);
    p->restore();
  }

 private:
  static double textWidth(double list_width) { return list_width - 16 - 56; }
  double textHeight(const QString& words, double width, int size) const {
    return QFontMetricsF(textFont(size))
        .boundingRect(QRectF(0, 0, width / zoom, 4000), Qt::TextWordWrap, words)
        .height();
  }
  QColor color(const FindingsModel::Row& row) const {
    return row.verdict == traces::Verdict::kFound           ? theme->wrong
           : row.verdict == traces::Verdict::kNotObservable ? theme->dim
                                                            : theme->right;
  }
  void drawGround(QPainter& p, const QRectF& card, const FindingsModel::Row& row,
                  bool selected) const {
    p.setPen(QPen(selected ? theme->accent : theme->line, selected ? 2 : 1));
    p.setBrush(theme->panel);
    p.drawRoundedRect(card, 8, 8);
    p.setPen(Qt::NoPen);
    p.setBrush(color(row));
    p.drawRoundedRect(QRectF(card.left() + 8, card.top() + 12, 4, card.height() - 24), 2, 2);
  }
  void drawWords(QPainter& p, const QRectF& card, const FindingsModel::Row& row) const {
    const QString glyph = row.verdict == traces::Verdict::kFound           ? "▲ "
                          : row.verdict == traces::Verdict::kNotObservable ? "– "
                                                                           : "✓ ";
    QRectF space = card.adjusted(24, 10, -16, 0);
    auto say = [&](const QString& words, const QFont& font, const QColor& ink, double gap) {
      if (words.isEmpty()) return;
      p.setFont(font);
      p.setPen(ink);
      QRectF used;
      p.drawText(space, Qt::TextWordWrap, words, &used);
      space.setTop(used.bottom() + gap);
    };
    const bool found = row.verdict == traces::Verdict::kFound;
    say(glyph + row.title, textFont(15, QFont::DemiBold), color(row), 6);
    say(row.evidence, textFont(13), found ? theme->text : theme->dim, 8);
    if (!row.remedy.isEmpty()) {
      say("WHAT TO CHANGE", textFont(11, QFont::DemiBold), theme->dim, 2);
      say(row.remedy, textFont(13), theme->text, 8);
    }
    if (!row.view.isEmpty())
      say(QString("→ see it in %1 (Enter, or double click)").arg(row.view),
          textFont(12, QFont::Medium), theme->accent, 0);
  }

  const FindingsModel& model_;
};

/// What the doctor found, could not see and cleared. A finding leads to its place in another view.
class DoctorView : public View {
 public:
  DoctorView(Hub& hub, QWidget* parent) : View(hub, parent) {
    setAccessibleName("Doctor: findings with evidence and remedy");
    setMinimumSize(320, 240);
    model_ = new FindingsModel(this);
    card_ = new FindingCard(*model_, this);
    list_ = new QListView(this);
    list_->setObjectName("cards");
    list_->setAccessibleName("Findings");
    list_->setModel(model_);
    list_->setItemDelegate(card_);
    list_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    list_->setResizeMode(QListView::Adjust);
    list_->setFrameShape(QFrame::NoFrame);
    setFocusProxy(list_);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(16, 52, 16, 8);
    column->addWidget(list_);
    connect(list_, &QListView::activated, this, [this](const QModelIndex& at) { lead(at.row()); });
    connect(&hub, &Hub::stateChanged, this, &DoctorView::refresh);
    connect(&hub, &Hub::traceChanged, this, &DoctorView::refresh);
    refresh();
  }

 protected:
  void themeChanged() override {
    card_->theme = theme_;
    card_->zoom = zoom_;
    layout()->setContentsMargins(16, static_cast<int>(52 * zoom_), 16, 8);
    list_->doItemsLayout();
  }
  void paintEvent(QPaintEvent*) override {
    QPainter p;
    begin(p);
    p.fillRect(page(), theme_->background);
    if (!hub_.diagnosis())
      return note(p, page(),
                  hub_.live()
                      ? "The doctor looks at the whole run: it speaks when the run has ended. "
                        "Stop it, or let it finish."
                      : "Nothing has been looked at yet. Open a recording, or run one.");
    const int found = hub_.diagnosis()->count(traces::Verdict::kFound);
    p.setFont(textFont(17, QFont::DemiBold));
    p.setPen(found ? theme_->wrong : theme_->right);
    p.drawText(QRectF(24, 12, pageWidth() - 48, 28), Qt::AlignVCenter,
               found == 0   ? QString("✓ Nothing found")
               : found == 1 ? QString("▲ One finding")
                            : QString("▲ %1 findings").arg(found));
  }

 private:
  void refresh() {
    list_->setVisible(hub_.diagnosis().has_value());
    const bool same = hub_.diagnosis() && shown_ == toJson(*hub_.diagnosis()).dump();
    if (!hub_.diagnosis() || same) return;
    shown_ = toJson(*hub_.diagnosis()).dump();
    model_->show(*hub_.diagnosis());
    list_->setCurrentIndex(model_->index(0));
  }
  void lead(int row) {
    const auto* entry = model_->at(row);
    if (!entry || entry->view.isEmpty()) return;
    const auto& f = entry->finding;
    Place place = f.place;
    place.layer = std::max<std::int16_t>(place.layer, 0);
    place.stage = std::max<std::int16_t>(place.stage, 0);
    if (f.rank >= 0) hub_.selectRank(f.rank);
    if (!f.buffer.empty()) hub_.selectTensor(QString::fromStdString(f.buffer));
    hub_.lead(entry->view, place);
  }

  FindingsModel* model_;
  FindingCard* card_;
  QListView* list_;
  std::string shown_;
};

}  // namespace

View* makeDoctorView(Hub& hub, QWidget* parent) {
  return new DoctorView(hub, parent);
}

}  // namespace ringscope::viz
