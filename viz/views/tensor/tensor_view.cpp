// SPDX-License-Identifier: GPL-3.0-or-later
#include <QKeyEvent>
#include <QMouseEvent>
#include <QWheelEvent>
#include <tuple>

#include "viz/kit/plain_key.h"
#include "viz/session/problem.h"
#include "viz/views/base/view.h"
#include "viz/views/tensor/tensor_list.h"
#include "viz/views/tensor/tensor_painter.h"

namespace ringscope::viz {
namespace {

/// Any recorded tensor of the viewed place, slice by slice; in a paused run also as it is now.
class TensorView : public View {
 public:
  TensorView(Viewing& viewing, QWidget* parent)
      : View(viewing, "Tensor: values of a recorded tensor, slice by slice", parent) {
    connect(list_, &TensorList::chosen, this,
            [this](const QString& name) { viewing_.navigator.selectTensor(name); });
    connect(list_, &TensorList::filterChanged, this, [this] { renew(); });
    connect(list_, &TensorList::liveReadClicked, this, [this] { viewing_.live.ask(asked()); });
    connect(&viewing.live, &LiveReads::changed, this, [this] {
      followRun();
      if (isVisible()) renew();
    });
  }

  bool focusSearch() override {
    list_->focusFilter();
    return true;
  }

 protected:
  Cursor watched(Cursor cursor) const override {
    cursor.phase = 0;
    cursor.axis = Axis::kRingStep;
    return cursor;
  }
  void startOver() override { lead_.clear(); }
  void refresh() override {
    const auto& live = viewing_.live.tensors();
    list_->show(makeTensorRows(viewing_.session.trace(), cursor(), list_->filter(),
                               atHead() ? live : std::vector<LiveTensor>()),
                chosen());
    makeScene();
  }
  void paint(QPainter& painter, const QRectF& page, const QRegion&) override {
    painter.fillRect(page, theme_->background);
    paintTensor(painter, pictureArea(), scene_, look_, *theme_);
  }
  void showEvent(QShowEvent* event) override {
    View::showEvent(event);
    followRun();
  }

  void mousePressEvent(QMouseEvent* event) override {
    look(pressed(scene_, look_, onPage(event->position()), tensorCanvas(pictureArea())));
  }
  void mouseMoveEvent(QMouseEvent* event) override {
    if (look_.dragged && (event->buttons() & Qt::LeftButton))
      look(dragged(scene_, look_, onPage(event->position()), tensorCanvas(pictureArea())));
  }
  void wheelEvent(QWheelEvent* event) override {
    const double steps = event->angleDelta().y() / 120.0;
    look(event->modifiers() & Qt::ControlModifier
             ? zoomed(scene_, look_, steps, matrix())
             : scrolled(scene_, look_, -static_cast<std::int64_t>(steps * 3)));
  }
  void keyPressEvent(QKeyEvent* event) override {
    auto pick = [&](int rows, int columns) {
      look(picked(scene_, look_, look_.row + rows, look_.column + columns, matrix()));
    };
    switch (plainKey(*event)) {
      case Qt::Key_Up:
        return pick(-1, 0);
      case Qt::Key_Down:
        return pick(1, 0);
      case Qt::Key_Left:
        return pick(0, -1);
      case Qt::Key_Right:
        return pick(0, 1);
      case Qt::Key_BracketLeft:
        return moveLead(-1);
      case Qt::Key_BracketRight:
        return moveLead(1);
      case Qt::Key_A:
        look_.range = scene_.range;
        return update();
      case Qt::Key_Plus:
      case Qt::Key_Equal:
        return look(zoomed(scene_, look_, 1, matrix()));
      case Qt::Key_Minus:
        return look(zoomed(scene_, look_, -1, matrix()));
      default:
        View::keyPressEvent(event);
    }
  }

 private:
  QString chosen() const { return QString::fromStdString(cursor().tensor); }
  bool atHead() const {
    const auto& moments = viewing_.session.trace().moments();
    return !moments.empty() && moments.back() == cursor().place;
  }
  double listWidth() const { return std::clamp(page().width() * 0.4, 210.0, 640.0); }
  QRectF pictureArea() const { return page().adjusted(listWidth() + 8, 0, -8, 0); }
  QRectF matrix() const { return tensorAreas(tensorCanvas(pictureArea())).matrix; }
  void arrange() override {
    const QRectF box(16, 12, listWidth() - 24, page().height() - 20);
    list_->setGeometry(QRectF(box.topLeft() * zoom_, box.size() * zoom_).toRect());
    list_->setZoom(zoom_);
  }
  void look(const TensorLook& look) {
    look_ = look;
    update();
  }

  /// A run that has paused is asked what it holds once somebody looks.
  void followRun() {
    list_->setLiveReads(viewing_.live.possible());
    if (!viewing_.live.possible()) has_asked_ = false;
    if (!isVisible() || !viewing_.live.possible() || has_asked_) return;
    has_asked_ = true;
    viewing_.live.ask();
  }

  LiveRead asked() const {
    LiveRead read;
    read.rank = cursor().rank;
    read.tensor = cursor().tensor;
    read.lead = lead_;
    if (const auto* row = list_->find(chosen())) {
      read.tensor = row->record.tensor.text();
      read.layer = row->record.place.layer;
    }
    return read;
  }
  const LiveRead* answer() const {
    const auto& read = viewing_.live.read();
    return viewing_.live.possible() && read && read->sameAs(asked()) ? &*read : nullptr;
  }

  /// Says why values cannot be read.
  void readScene(const TensorRow& row) {
    try {
      scene_ = makeTensorScene(viewing_.session.trace(), row,
                               {lead_, answer(), viewing_.session.live()});
      lead_ = scene_.lead;
    } catch (...) {
      scene_.note = describeProblem(std::current_exception()).toStdString();
    }
  }

  void makeScene() {
    const TensorRow* row = list_->find(chosen());
    scene_ = {};
    if (row) {
      readScene(*row);
    } else {
      scene_.note = list_->whyEmpty(viewing_.session.trace());
    }
    describe(scene_.note);
    // Range and zoom stay while it is the same slice, whatever else has changed.
    const Shown now{viewing_.session.generation(), row ? row->record.id : traces::TensorId(),
                    scene_.name, lead_, scene_.live};
    if (shown_ != now) look_ = wholeSlice(scene_, look_, matrix());
    shown_ = now;
    update();
  }

  /// The next index of the last dimension before the matrix, carrying into those before it.
  void moveLead(int by) {
    const TensorRow* row = list_->find(chosen());
    if (!row) return;
    for (std::size_t d = lead_.size(); d-- > 0;) {
      lead_[d] += by;
      if (lead_[d] >= 0 && lead_[d] < row->record.shape[d]) break;
      lead_[d] = by > 0 ? 0 : row->record.shape[d] - 1;
    }
    makeScene();
  }

  /// The source on show: trace, tensor, index before the matrix, live or recorded.
  using Shown = std::tuple<int, traces::TensorId, std::string, std::vector<std::int64_t>, bool>;

  TensorList* list_ = new TensorList(this);
  TensorScene scene_;
  TensorLook look_;
  std::vector<std::int64_t> lead_;  // index of each dimension before the matrix
  std::optional<Shown> shown_;
  bool has_asked_ = false;  // the paused run, what it holds
};

}  // namespace

View* makeTensorView(Viewing& viewing, QWidget* parent) {
  return new TensorView(viewing, parent);
}

}  // namespace ringscope::viz
