// SPDX-License-Identifier: GPL-3.0-or-later
#include <QListView>
#include <QStyledItemDelegate>

#include "viz/models/findings_model.h"
#include "viz/paint/doctor_painter.h"
#include "viz/views/passing_list.h"
#include "viz/views/view.h"

namespace ringscope::viz {
namespace {

/// Draws the rows of the list as cards.
class CardDelegate : public QStyledItemDelegate {
 public:
  CardDelegate(const FindingsModel& model, QObject* parent)
      : QStyledItemDelegate(parent), model_(model) {}
  const Theme* theme = &Theme::all().front();
  double zoom = 1;

  QSize sizeHint(const QStyleOptionViewItem& option, const QModelIndex& index) const override {
    const auto* card = model_.at(index.row());
    if (!card) return {};
    // Not the option's rectangle: it differs between layout and painting.
    const auto* list = qobject_cast<const QAbstractItemView*>(option.widget);
    const double width = list ? list->viewport()->width() : 600;
    return {200, static_cast<int>(findingCardHeight(*card, width / zoom) * zoom)};
  }
  void paint(QPainter* p, const QStyleOptionViewItem& option,
             const QModelIndex& index) const override {
    const auto* card = model_.at(index.row());
    if (!card) return;
    p->save();
    p->setRenderHint(QPainter::Antialiasing);
    p->translate(option.rect.topLeft());
    p->scale(zoom, zoom);
    paintFindingCard(*p, QRectF(QPointF(0, 0), QSizeF(option.rect.size()) / zoom), *card,
                     option.state & QStyle::State_Selected, *theme);
    p->restore();
  }

 private:
  const FindingsModel& model_;
};

/// What the doctor found, could not see and cleared. A finding leads to its place in another view.
class DoctorView : public View {
 public:
  DoctorView(Viewing& viewing, QWidget* parent)
      : View(viewing, "Doctor: findings with evidence and remedy", parent) {
    model_ = new FindingsModel(this);
    cards_ = new CardDelegate(*model_, this);
    list_ = new PassingList<QListView>(this);
    list_->setObjectName("cards");
    list_->setAccessibleName("Findings");
    list_->setModel(model_);
    list_->setItemDelegate(cards_);
    list_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
    list_->setResizeMode(QListView::Adjust);
    list_->setFrameShape(QFrame::NoFrame);
    list_->hide();
    setFocusProxy(list_);
    connect(list_, &QListView::activated, this, [this](const QModelIndex& at) { lead(at.row()); });
  }

 protected:
  Cursor watched(Cursor) const override { return {}; }
  void refresh() override {
    DoctorScene scene = makeDoctorScene(viewing_.session.diagnosis(), viewing_.session.live());
    const bool same = scene == scene_;
    scene_ = std::move(scene);
    list_->setVisible(scene_.note.empty());
    describe(scene_.note);
    update();
    if (same) return;
    model_->show(scene_.cards);
    list_->setCurrentIndex(model_->index(0));
  }
  void themeChanged() override {
    cards_->theme = theme_;
    cards_->zoom = zoom_;
    placeList();
    list_->doItemsLayout();
  }
  void resizeEvent(QResizeEvent*) override { placeList(); }
  void paint(QPainter& painter, const QRectF& page, const QRegion&) override {
    paintDoctorHead(painter, page, scene_, *theme_);
  }

 private:
  void placeList() {
    const QRectF box = doctorCards(page());
    list_->setGeometry(QRectF(box.topLeft() * zoom_, box.size() * zoom_).toRect());
  }
  void lead(int row) {
    const auto* card = model_->at(row);
    if (!card || card->view.empty()) return;
    Cursor to = cursor();
    to.place = card->place;
    to.phase = 0;
    if (card->rank) to.rank = *card->rank;
    if (card->tensor) to.tensor = *card->tensor;
    viewing_.navigator.lead(QString::fromStdString(card->view), to);
  }

  FindingsModel* model_;
  CardDelegate* cards_;
  QListView* list_;
  DoctorScene scene_;
};

}  // namespace

View* makeDoctorView(Viewing& viewing, QWidget* parent) {
  return new DoctorView(viewing, parent);
}

}  // namespace ringscope::viz
