// SPDX-License-Identifier: GPL-3.0-or-later
#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QFileDialog>
#include <QListView>
#include <QScrollBar>
#include <QStyledItemDelegate>

#include "traces/analysis/report/markdown.h"
#include "viz/kit/passing_list.h"
#include "viz/views/base/view.h"
#include "viz/views/doctor/doctor_painter.h"
#include "viz/views/doctor/explanation_page.h"
#include "viz/views/doctor/explanation_pane.h"
#include "viz/views/doctor/findings_model.h"
#include "viz/views/doctor/view_picture.h"

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
    // Neither the option's rectangle, which differs between layout and painting, nor what the
    // scroll bar leaves: whether there is one follows from the cards' heights.
    const auto* list = qobject_cast<const QAbstractItemView*>(option.widget);
    const double width =
        list ? list->width() - list->verticalScrollBar()->sizeHint().width() - 2 : 600;
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

/// Shows the mistakes that the doctor found, could not see and cleared. A finding leads to its
/// place in another view,
/// and is explained beside the list.
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
    copy_ = new QAction("Copy finding", list_);
    copy_->setShortcut(QKeySequence::Copy);
    copy_->setShortcutContext(Qt::WidgetShortcut);
    list_->addAction(copy_);
    list_->setContextMenuPolicy(Qt::ActionsContextMenu);
    connect(copy_, &QAction::triggered, this, [this] { copyFinding(); });
    connect(list_, &QListView::activated, this, [this](const QModelIndex& at) { lead(at.row()); });
    connect(list_->selectionModel(), &QItemSelectionModel::currentChanged, this,
            [this] { explain(); });
    pane_ = new ExplanationPane(this);
    pane_->hide();
    connect(pane_, &ExplanationPane::copyClicked, copy_, &QAction::trigger);
    // Queued: what it throws does not pass through Qt's delivery of a click, which would leak.
    connect(
        pane_, &ExplanationPane::saveClicked, this, [this] { save(); }, Qt::QueuedConnection);
  }

 protected:
  Cursor watched(Cursor) const override { return {}; }
  void startOver() override { starts_over_ = true; }
  void refresh() override {
    DoctorScene scene = makeDoctorScene(viewing_.session.diagnosis(), viewing_.session.live());
    const bool same = scene == scene_ && !starts_over_;
    starts_over_ = false;
    scene_ = std::move(scene);
    list_->setVisible(scene_.note.empty());
    describe(scene_.note);
    update();
    if (same) return;
    model_->show(scene_.cards);
    list_->setCurrentIndex(model_->index(0));
    explain();
  }
  void themeChanged() override {
    cards_->theme = theme_;
    cards_->zoom = zoom_;
    pane_->setLook(*theme_, zoom_);
    stale_ = true;
    if (isVisible()) explain();
    list_->doItemsLayout();
  }
  void showEvent(QShowEvent* event) override {
    View::showEvent(event);
    if (stale_) explain();
  }
  void paint(QPainter& painter, const QRectF& page, const QRegion&) override {
    paintDoctorHead(painter, page, scene_, *theme_);
  }

 private:
  /// The pane stands beside the list where there is room for both, and under it elsewhere.
  void arrange() override {
    constexpr double kBesideFrom = 900, kGap = 12, kListShare = 0.45, kLeastPane = 140;
    constexpr double kCardInset = 8, kScrollBar = 8;
    const QRectF box = doctorCards(page(), scene_);
    QRectF list = box, pane = box;
    if (box.width() >= kBesideFrom) {
      list.setWidth(box.width() * kListShare);
      pane.setLeft(list.right() + kGap);
    } else {
      list.setHeight(box.height() / 2);
      pane = pane.adjusted(kCardInset, box.height() / 2 + kGap, -kCardInset - kScrollBar, 0);
    }
    const bool shown = explained() && pane.height() >= kLeastPane;
    const int width = list_->width();
    list_->setGeometry(onScreen(shown ? list : box));
    if (list_->width() != width) list_->doItemsLayout();  // cards' heights follow from it
    pane_->setGeometry(onScreen(pane));
    pane_->setVisible(shown);
  }
  QRect onScreen(const QRectF& box) const {
    return QRectF(box.topLeft() * zoom_, box.size() * zoom_).toRect();
  }
  const FindingCard* selected() const { return model_->at(list_->currentIndex().row()); }
  const traces::Explanation* explained() const {
    const FindingCard* card = scene_.note.empty() ? selected() : nullptr;
    return card && card->explanation ? &*card->explanation : nullptr;
  }
  void explain() {
    stale_ = false;
    arrange();
    if (const auto* explanation = explained())
      pane_->show(*explanation, picture(*theme_, devicePixelRatioF()));
    list_->scrollTo(list_->currentIndex());
  }
  /// The view that the finding names, at its place.
  ExplanationPicture picture(const Theme& theme, double ratio) const {
    return drawPicture(viewing_.session, *selected(), cursor(), theme, ratio);
  }
  void save() {
    const auto* explanation = explained();
    if (!explanation) return;
    const QString path = QFileDialog::getSaveFileName(
        this, "Save the explanation", QString::fromStdString(explanation->id) + ".pdf",
        "PDF (*.pdf)");
    if (path.isEmpty()) return;
    constexpr double kDense = 3;
    writeExplanationPage(path, *explanation, picture(Theme::named("light"), kDense));
  }
  /// Copies a finding as Markdown, and what another card says as plain text. The cards begin with
  /// the findings, in the same order.
  void copyFinding() {
    const FindingCard* card = selected();
    if (!card) return;
    const auto row = static_cast<std::size_t>(list_->currentIndex().row());
    std::string words = card->title + "\n" + card->evidence + "\n" + card->remedy + "\n";
    if (card->verdict == traces::Verdict::kFound)
      words = traces::toMarkdown(
          viewing_.session.diagnosis()->findings().at(row),
          (viewing_.session.path().isEmpty() ? viewing_.session.name() : viewing_.session.path())
              .toStdString());
    QApplication::clipboard()->setText(QString::fromStdString(words));
    Q_EMIT viewing_.navigator.told("copied: " + QString::fromStdString(card->title));
  }
  void lead(int row) {
    const auto* card = model_->at(row);
    if (!card || card->view.empty()) return;
    viewing_.navigator.lead(QString::fromStdString(card->view), cursorAt(*card, cursor()));
  }

  FindingsModel* model_;
  CardDelegate* cards_;
  QListView* list_;
  QAction* copy_;
  ExplanationPane* pane_;
  DoctorScene scene_;
  bool starts_over_ = false;  // the picture beside a finding is of another recording
  bool stale_ = false;        // the explanation is of another theme, and nobody sees it
};

}  // namespace

View* makeDoctorView(Viewing& viewing, QWidget* parent) {
  return new DoctorView(viewing, parent);
}

}  // namespace ringscope::viz
