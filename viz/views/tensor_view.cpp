// SPDX-License-Identifier: GPL-3.0-or-later
#include <QKeyEvent>
#include <QMouseEvent>
#include <QWheelEvent>
#include <cmath>

#include "viz/views/tensor_canvas.h"
#include "viz/views/tensor_list.h"
#include "viz/views/view.h"

namespace ringscope::viz {
namespace {

/// Any recorded tensor of the viewed place, slice by slice; in a paused run also as it is now.
class TensorView : public View {
 public:
  TensorView(Hub& hub, QWidget* parent) : View(hub, parent) {
    setAccessibleName("Tensor: values of a recorded tensor, slice by slice");
    setMinimumSize(320, 240);
    connect(list_, &TensorList::chosen, this, [this](const QString& name) { choose(name); });
    connect(list_, &TensorList::filterChanged, this, qOverload<>(&QWidget::update));
    connect(list_, &TensorList::liveReadClicked, this, [this] { hub_.requestLiveRead(asked()); });
    connect(&hub, &Hub::traceChanged, list_, &TensorList::forget);
    connect(&hub, &Hub::stateChanged, this, &TensorView::followPause);
    connect(&hub, &Hub::liveTensorsArrived, this, qOverload<>(&QWidget::update));
    connect(&hub, &Hub::liveReadArrived, this, [this] {
      shown_ = nullptr;
      update();
    });
  }

 protected:
  void resizeEvent(QResizeEvent*) override { place(); }
  void themeChanged() override { place(); }
  void showEvent(QShowEvent*) override { followPause(); }

  void paintEvent(QPaintEvent*) override {
    QPainter p;
    begin(p);
    p.fillRect(page(), theme_->background);
    if (list_->refresh(hub_)) shown_ = nullptr;
    const auto* tensor = list_->find(hub_.tensor());
    if (!tensor) return note(p, canvas(), list_->whyEmpty());
    refreshPicture(*tensor);
    drawHead(p, *tensor);
    if (picture_.slice.values.empty()) return note(p, canvas(), whyEmpty(*tensor));
    paintTensor(p, canvas(), picture_, *theme_);
    drawPicked(p);
  }

  void mousePressEvent(QMouseEvent* event) override {
    const QPointF at = onPage(event->position());
    const TensorAreas areas = tensorAreas(canvas());
    dragging_ = 0;
    if (areas.range.adjusted(-8, 0, 8, 10).contains(at)) {
      const double low = rangeX(areas.range, picture_.histogram, picture_.range.low);
      const double high = rangeX(areas.range, picture_.histogram, picture_.range.high);
      dragging_ = std::abs(at.x() - low) < std::abs(at.x() - high) ? -1 : 1;
      drag(at.x());
    } else if (areas.matrix.contains(at)) {
      pick(picture_.first_row +
               static_cast<std::int64_t>((at.y() - areas.matrix.top()) / picture_.cell),
           picture_.first_column +
               static_cast<std::int64_t>((at.x() - areas.matrix.left()) / picture_.cell));
    }
  }
  void mouseMoveEvent(QMouseEvent* event) override {
    if (dragging_ && (event->buttons() & Qt::LeftButton)) drag(onPage(event->position()).x());
  }
  void wheelEvent(QWheelEvent* event) override {
    const double steps = event->angleDelta().y() / 120.0;
    if (event->modifiers() & Qt::ControlModifier) return zoomCells(steps);
    picture_.scroll(-static_cast<std::int64_t>(steps * 3));
    update();
  }

  void keyPressEvent(QKeyEvent* event) override {
    switch (event->key()) {
      case Qt::Key_Up:
        return pick(picture_.row - 1, picture_.column);
      case Qt::Key_Down:
        return pick(picture_.row + 1, picture_.column);
      case Qt::Key_Left:
        return pick(picture_.row, picture_.column - 1);
      case Qt::Key_Right:
        return pick(picture_.row, picture_.column + 1);
      case Qt::Key_BracketLeft:
        return moveLead(-1);
      case Qt::Key_BracketRight:
        return moveLead(1);
      case Qt::Key_A:
        picture_.fit();
        return update();
      case Qt::Key_Plus:
      case Qt::Key_Equal:
        return zoomCells(1);
      case Qt::Key_Minus:
        return zoomCells(-1);
      default:
        View::keyPressEvent(event);
    }
  }

 private:
  double listWidth() const { return std::clamp(pageWidth() * 0.4, 210.0, 640.0); }
  QRectF canvas() const {
    return {listWidth() + 8, 64, pageWidth() - listWidth() - 16, pageHeight() - 68};
  }
  void place() {
    const QRectF box(16, 12, listWidth() - 24, pageHeight() - 20);
    list_->setGeometry(QRectF(box.topLeft() * zoom_, box.size() * zoom_).toRect());
    list_->setZoom(zoom_);
  }
  void choose(const QString& name) {
    if (name == hub_.tensor()) return;
    shown_ = nullptr;
    hub_.selectTensor(name);
  }

  /// A run that has paused is asked what it holds once somebody looks.
  void followPause() {
    list_->setLiveReads(hub_.paused());
    if (hub_.paused() && isVisible() && hub_.liveTensors().empty()) hub_.requestLiveTensors();
  }

  LiveRead asked() const {
    LiveRead read;
    read.rank = hub_.selectedRank();
    read.tensor = hub_.tensor();
    read.lead = lead_;
    if (const auto* tensor = list_->find(hub_.tensor())) {
      read.tensor = QString::fromStdString(tensor->name);
      read.layer = tensor->place.layer;
    }
    return read;
  }
  const LiveRead* live() const {
    const auto& read = hub_.liveRead();
    return hub_.paused() && read && read->sameAs(asked()) ? &*read : nullptr;
  }

  void refreshPicture(const traces::TensorRecord& tensor) {
    lead_.resize(tensor.shape.size() > 2 ? tensor.shape.size() - 2 : 0, 0);
    for (std::size_t d = 0; d < lead_.size(); ++d)
      lead_[d] = std::clamp<std::int64_t>(lead_[d], 0, tensor.shape[d] - 1);
    const std::pair now{tensor.name, tensor.id};
    if (shown_ == &hub_.trace() && shown_tensor_ == now && shown_lead_ == lead_) return;
    shown_ = &hub_.trace();
    shown_tensor_ = now;
    shown_lead_ = lead_;
    picture_.show(sliceOf(tensor), tensorAreas(canvas()).matrix);
  }
  TensorSlice sliceOf(const traces::TensorRecord& tensor) const {
    if (const LiveRead* read = live()) {
      const auto dims =
          std::min<std::ptrdiff_t>(2, static_cast<std::ptrdiff_t>(read->shape.size()));
      return tensorSlice({read->shape.end() - dims, read->shape.end()}, read->values, {});
    }
    const auto values = hub_.trace().values(tensor);
    return values ? tensorSlice(tensor.shape, *values, lead_) : TensorSlice();
  }
  QString whyEmpty(const traces::TensorRecord& tensor) const {
    if (const LiveRead* read = live(); read && !read->failure.isEmpty())
      return "▲ " + read->failure;
    if (list_->isOnlyLive(hub_.tensor()))
      return "Not recorded here. Read live reads it from the paused run.";
    return QString(
               "Only hash and statistics are recorded: %1 … %2, mean %3. --capture "
               "values:steps=%4 would show the values%5")
        .arg(tensor.stats.min, 0, 'g', 4)
        .arg(tensor.stats.max, 0, 'g', 4)
        .arg(tensor.stats.mean, 0, 'g', 4)
        .arg(tensor.place.train_step)
        .arg(hub_.live() ? "; or pause the run and press Read live." : ".");
  }

  void drawHead(QPainter& p, const traces::TensorRecord& tensor) const {
    const QRectF box(canvas().left() + 8, 10, canvas().width() - 8, 24);
    p.setFont(textFont(17, QFont::DemiBold));
    p.setPen(theme_->text);
    QStringList index;
    for (const auto i : lead_) index << QString::number(i);
    index << ":"
          << ":";
    p.drawText(box, Qt::AlignVCenter,
               QString("%1 %2 · rank %3")
                   .arg(QString::fromStdString(tensor.name),
                        lead_.empty() ? "" : "[" + index.join(", ") + "]")
                   .arg(tensor.rank));
    p.setFont(textFont(12));
    p.setPen(live() ? theme_->accent : theme_->dim);
    const QString where =
        live() ? "● live, " + live()->place : QString::fromStdString(describe(tensor.place));
    p.drawText(
        QRectF(box.left(), 36, box.width(), 20), Qt::AlignVCenter,
        p.fontMetrics().elidedText(
            where + " · arrows: cell · [ ]: slice · A: auto-fit · + −: zoom · drag the range",
            Qt::ElideRight, static_cast<int>(box.width())));
  }

  void drawPicked(QPainter& p) const {
    p.setFont(monoFont(12));
    p.setPen(theme_->text);
    QString words = QString("[%1, %2] = %3")
                        .arg(picture_.row)
                        .arg(picture_.column)
                        .arg(picture_.slice.at(picture_.row, picture_.column), 0, 'g', 9);
    const auto& h = picture_.histogram;
    if (h.nan + h.inf > 0) words += QString("   ▲ %1 NaN, %2 Inf").arg(h.nan).arg(h.inf);
    p.drawText(QRectF(canvas().left() + 56, pageHeight() - 24, canvas().width(), 20),
               Qt::AlignVCenter, words);
  }

  void pick(std::int64_t row, std::int64_t column) {
    picture_.pick(row, column, tensorAreas(canvas()).matrix);
    update();
  }
  void zoomCells(double steps) {
    picture_.zoom(steps, tensorAreas(canvas()).matrix);
    update();
  }
  /// The next index of the last dimension before the matrix, carrying into those before it.
  void moveLead(int by) {
    const auto* tensor = list_->find(hub_.tensor());
    if (!tensor || lead_.empty()) return;
    for (std::size_t d = lead_.size(); d-- > 0;) {
      lead_[d] += by;
      if (lead_[d] >= 0 && lead_[d] < tensor->shape[d]) break;
      lead_[d] = by > 0 ? 0 : tensor->shape[d] - 1;
    }
    update();
  }
  void drag(double x) {
    const double value = rangeValue(tensorAreas(canvas()).range, picture_.histogram, x);
    if (dragging_ < 0)
      picture_.range.low = std::min(value, picture_.range.high);
    else
      picture_.range.high = std::max(value, picture_.range.low);
    update();
  }

  TensorList* list_ = new TensorList(this);
  TensorPicture picture_;
  std::vector<std::int64_t> lead_, shown_lead_;
  const traces::Trace* shown_ = nullptr;
  std::pair<std::string, std::uint64_t> shown_tensor_;
  int dragging_ = 0;  // −1 the low handle, 1 the high one
};

}  // namespace

View* makeTensorView(Hub& hub, QWidget* parent) {
  return new TensorView(hub, parent);
}

}  // namespace ringscope::viz
