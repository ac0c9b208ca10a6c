// SPDX-License-Identifier: GPL-3.0-or-later
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QHelpEvent>
#include <QMimeData>
#include <QMouseEvent>
#include <QTimer>
#include <QToolTip>

#include "viz/kit/page.h"
#include "viz/kit/plain_key.h"
#include "viz/scene/groups.h"
#include "viz/views/base/view.h"
#include "viz/views/compare/compare_buttons.h"
#include "viz/views/compare/compare_cards.h"
#include "viz/views/compare/compare_painter.h"

namespace ringscope::viz {
namespace {

constexpr const char* kPurpose =
    "Another recording of the same model and data stands beside this one here, whatever its ranks "
    "and its strategy: which settings differ, what each step took, and at which place of the model "
    "their values differ first.\nDrop it here, or open it.";

/// Two recordings side by side by logical place. A row leads to its place; N goes to the next
/// difference, [ and ] to a row of the map that differs.
class CompareView : public View {
 public:
  CompareView(Viewing& viewing, QWidget* parent)
      : View(viewing, "Compare: a second recording beside this one, by place of the model", parent),
        of_(viewing.comparison) {
    setAcceptDrops(true);
    setMouseTracking(true);
    connect(buttons_.open(), &QPushButton::clicked, this, [this] { openOther(); });
    connect(buttons_.close(), &QPushButton::clicked, &of_, &Comparison::close);
    connect(buttons_.beside(), &QPushButton::clicked, &of_, &Comparison::besideRequested);
    connect(&of_, &Comparison::mapChanged, this, [this] {
      if (isVisible()) showMap();
    });
    progress_.setInterval(100);
    connect(&progress_, &QTimer::timeout, this, [this] { update(); });
    connect(&of_, &Comparison::changed, this, [this] {
      if (isVisible()) return refresh();
      runs_.reset();
      scene_ = {};
    });
  }

  bool isMaking() const override { return isVisible() && of_.makesMap(); }

 protected:
  Cursor watched(Cursor cursor) const override {
    Cursor seen;
    seen.place.train_step = cursor.place.train_step;
    if (!name_.empty()) return seen;
    seen.place.layer = cursor.place.layer;
    seen.tensor = cursor.tensor;
    return seen;
  }
  void refresh() override {
    if (runs_ != of_.runs()) {
      runs_ = of_.runs();
      turned_.clear();
      name_.clear();
    }
    scene_ = runs_ ? makeCompareScene(*runs_, of_.before(), cursor().place.train_step, turned_)
                   : CompareScene();
    showMap();
    of_.state() == Comparison::State::kComparing ? progress_.start() : progress_.stop();
    describe(runs_ ? viz::describe(scene_) : sentence().toStdString());
    fitScrollBar();
    update();
  }
  void showEvent(QShowEvent* event) override {
    View::showEvent(event);
    refresh();  // the comparison may have changed meanwhile
  }
  double neededHeight(double width) const override {
    if (!runs_) return 0;
    if (measured_ != width) height_ = compareHeight(measured_ = width, scene_);
    return height_;
  }
  void paint(QPainter& painter, const QRectF& page, const QRegion&) override {
    if (runs_)
      return paintCompare(painter, page, scene_, {seen(), selected(), look_}, map_, *theme_);
    if (of_.state() == Comparison::State::kComparing)
      return paintComparing(painter, page, sentence(), of_.progress(), *theme_);
    painter.fillRect(page, theme_->background);
    paintNote(painter, page.adjusted(0, 0, 0, -72), sentence().toStdString(), *theme_);
  }
  void mousePressEvent(QMouseEvent* event) override {
    if (!runs_ || onPage(event->position()).y() < scrollTop() + head()) return;
    const CompareHit hit = compareHit(onPage(event->position()), page(), scene_);
    if (hit.floor) return openFloor();
    if (const auto on_map = mapHit(event->position())) return pick(*on_map);
    if (hit.verdict) return go(runs_->comparison.first());
    if (!hit.row) return;
    if (hit.opener) return turn(*hit.row);
    choose(*hit.row);
  }
  void mouseMoveEvent(QMouseEvent* event) override { hover(mapHit(event->position())); }
  void leaveEvent(QEvent*) override { hover(std::nullopt); }
  void keyPressEvent(QKeyEvent* event) override {
    const int key = plainKey(*event);
    if (key == Qt::Key_E && scene_.lacks_floor) return openFloor();
    if (key == Qt::Key_B && runs_ && !of_.before()) return Q_EMIT of_.besideRequested();
    if (key == Qt::Key_BracketLeft || key == Qt::Key_BracketRight)
      return walkMap(key == Qt::Key_BracketRight);
    const std::size_t at = selected(), rows = scene_.places.size();
    if (!runs_ || rows == 0) return View::keyPressEvent(event);
    switch (key) {
      case Qt::Key_Down:
        return choose(at == rows ? 0 : std::min(at + 1, rows - 1));
      case Qt::Key_Up:
        return choose(at == rows ? 0 : at - std::min<std::size_t>(at, 1));
      case Qt::Key_Return:
      case Qt::Key_Enter:
        return at < rows && scene_.places[at].heads ? turn(at) : choose(at == rows ? 0 : at);
      case Qt::Key_N:
        return go(differenceAfter(runs_->comparison, cursor().place.train_step,
                                  at < rows ? &scene_.places[at] : nullptr));
      default:
        View::keyPressEvent(event);
    }
  }
  bool event(QEvent* event) override {
    if (event->type() != QEvent::ToolTip || !runs_) return View::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    QToolTip::showText(help->globalPos(), tipAt(onPage(help->pos())), this);
    return true;
  }
  void dragEnterEvent(QDragEnterEvent* event) override {
    if (event->mimeData()->hasUrls()) event->acceptProposedAction();
  }
  void dropEvent(QDropEvent* event) override {
    if (!event->mimeData()->urls().isEmpty())
      of_.with(event->mimeData()->urls().first().toLocalFile());
  }

 private:
  /// The height of the cards, which stay in sight.
  double head() const { return cards().head; }
  CompareCards cards() const { return {QWidget::width() / zoom_, scene_.a, scene_.b}; }
  QRectF seen() const {
    return {0, scrollTop(), QWidget::width() / zoom_, QWidget::height() / zoom_};
  }
  QString tipAt(const QPointF& point) const {
    const CompareCards cards = this->cards();
    if (const auto on_map = mapHit(QPointF(point.x(), point.y() - scrollTop()) * zoom_))
      return text(describeRow(scene_.map, on_map->row, on_map->of));
    for (const auto& [card, run] :
         {std::pair(&cards.first, &runs_->run), {&cards.second, &runs_->other}})
      if (card->translated(0, scrollTop()).contains(point)) return text(run->path);
    const CompareHit hit = compareHit(point, page(), scene_);
    return hit.row ? text(scene_.places[*hit.row].sentence) : QString();
  }
  /// Shows the map of the chosen tensor, or of the cursor's tensor before one is chosen.
  void showMap() {
    measured_ = -1;
    if (!runs_) return;
    const std::size_t at = selected();
    const bool chosen = at < scene_.places.size();
    const MapSubject subject = chosen
                                   ? mapSubject(scene_.places[at].place, scene_.places[at].tensor)
                                   : mapSubject(cursor().place, cursor().tensor);
    if (scene_.map.subject != subject) look_ = {};
    of_.askMap(subject);
    scene_.map =
        makeComparedMap(subject, of_.map(), of_.mapProblem().toStdString(), runs_->comparison);
    update();
  }
  /// Returns the part of the map at a point of the widget; none under the cards.
  std::optional<MapHit> mapHit(const QPointF& position) const {
    const QPointF point = onPage(position);
    if (!runs_ || point.y() < scrollTop() + head()) return std::nullopt;
    return map_.hit(point, compareMap(page(), scene_), scene_.map);
  }
  void hover(const std::optional<MapHit>& hit) {
    if (look_.hovered == hit) return;
    look_.hovered = hit;
    update();
  }
  void walkMap(bool forward) {
    const auto from = look_.picked ? std::optional(look_.picked->row) : std::nullopt;
    if (const auto row = rowThatDiffers(scene_.map, from, forward)) pick({*row, 1});
  }
  /// To a row of the map, with who had it in the first recording.
  void pick(const MapHit& hit) {
    look_.picked = hit;
    const traces::RowDifference& row = scene_.map.map->rows[hit.row];
    const MapSubject& of = scene_.map.subject;
    Cursor to = cursorAt(of.place, of.tensor, row.rank, cursor());
    to.group = groupWith(viewing_.session.trace(), to.rank, to.group);
    const std::string sentence = describeRow(scene_.map, hit.row, hit.of);
    viewing_.navigator.goTo(to);
    Q_EMIT viewing_.navigator.told(text(sentence));
    describe(sentence);
    update();
  }
  /// The row that was chosen; as many as there are: none was, or it is not listed.
  std::size_t selected() const {
    const auto found = std::ranges::find_if(
        scene_.places, [&](const PlaceRow& row) { return !name_.empty() && findId(row) == name_; });
    return static_cast<std::size_t>(found - scene_.places.begin());
  }
  /// The same in every training step.
  static std::string findId(const PlaceRow& row) {
    if (row.heads) return row.name;
    return row.tensor + "\n" + toString(row.place.layer) + name(row.place.direction);
  }
  void choose(std::size_t row) {
    const PlaceRow& chosen = scene_.places[row];
    name_ = findId(chosen);
    const std::string sentence = chosen.sentence;
    const Cursor to = cursorAt(chosen.place, chosen.tensor, chosen.rank, cursor());
    showMap();
    reveal(compareRow(page(), scene_, row).top(), compareRow(page(), scene_, row).bottom(), head());
    viewing_.navigator.goTo(to);
    Q_EMIT viewing_.navigator.told(text(sentence));
    describe(sentence);
    update();
  }
  /// To a difference of any training step.
  void go(const traces::TensorDifference* difference) {
    if (!difference) return;
    viewing_.navigator.goTo(cursorAt(difference->place, "", WorldRank::none(), cursor()));
    for (const bool opened : {false, true})
      for (std::size_t row = 0; row < scene_.places.size(); ++row) {
        const PlaceRow& at = scene_.places[row];
        if (!at.heads && at.place == difference->place && at.tensor == difference->tensor)
          return choose(row);
        if (!opened && at.heads && !at.open && holds(at, *difference)) turn(row);
      }
  }
  static bool holds(const PlaceRow& head, const traces::TensorDifference& difference) {
    return head.name == tensorHead(difference);
  }
  void turn(std::size_t row) {
    const std::string& name = scene_.places[row].name;
    if (!turned_.erase(name)) turned_.insert(name);
    name_ = name;
    refresh();
  }
  void openOther() {
    if (const QString path = asked("Open a second recording"); !path.isEmpty()) of_.with(path);
  }
  void openFloor() {
    const QString path = asked("Open a second recording of B's run");
    if (!path.isEmpty()) of_.withFloor(path);
  }
  QString asked(const QString& title) {
    return QFileDialog::getOpenFileName(this, title, QFileInfo(viewing_.session.path()).path(),
                                        "RingScope traces (*.rscope);;All files (*)");
  }
  QString sentence() const {
    const QString other = QFileInfo(of_.other()).fileName();
    switch (of_.state()) {
      case Comparison::State::kWaiting:
        return QString("It is compared with %1 as soon as %2.")
            .arg(other, viewing_.session.live() ? "the run has ended" : "it has been read");
      case Comparison::State::kComparing:
        return QString("Comparing with %1").arg(other);
      case Comparison::State::kFailed:
        return "▲ " + of_.problem();
      default:
        return kPurpose;
    }
  }
  void arrange() override { buttons_.place(of_, cards(), QSizeF(QWidget::size()) / zoom_, zoom_); }

  Comparison& of_;
  CompareButtons buttons_{this};
  QTimer progress_;
  std::shared_ptr<const ComparedRuns> runs_;  // those of the scene
  CompareScene scene_;
  mutable ComparedMapPainter map_;
  MapLook look_;
  mutable double measured_ = -1, height_ = 0;  // the width, and the page's height there
  std::set<std::string> turned_;               // places that were opened or closed
  std::string name_;                           // of the chosen row
};

}  // namespace

View* makeCompareView(Viewing& viewing, QWidget* parent) {
  return new CompareView(viewing, parent);
}

}  // namespace ringscope::viz
