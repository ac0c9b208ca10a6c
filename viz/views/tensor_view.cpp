// SPDX-License-Identifier: GPL-3.0-or-later
#include <QHeaderView>
#include <QKeyEvent>
#include <QLineEdit>
#include <QMouseEvent>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>
#include <QWheelEvent>
#include <cmath>

#include "viz/models/tensor_list_model.h"
#include "viz/views/tensor_canvas.h"
#include "viz/views/view.h"

namespace ringscope::viz {
namespace {

constexpr std::size_t kBins = 80;
constexpr double kSmallestCell = 2, kLargestCell = 64, kSmallestFit = 8, kLargestFit = 48;

/// Any recorded tensor of the viewed place, slice by slice; in a paused run also as it is now.
class TensorView : public View {
 public:
  TensorView(Hub& hub, QWidget* parent) : View(hub, parent) {
    setAccessibleName("Tensor: values of a recorded tensor, slice by slice");
    setMinimumSize(320, 240);
    makeList();
    connect(&hub, &Hub::traceChanged, this, [this] { listed_ = {}; });
    connect(&hub, &Hub::stateChanged, this, [this] { live_->setEnabled(hub_.paused()); });
    connect(&hub, &Hub::liveReadArrived, this, [this] {
      shown_ = nullptr;
      update();
    });
  }

 protected:
  void resizeEvent(QResizeEvent*) override { place(); }
  void themeChanged() override { place(); }

  void paintEvent(QPaintEvent*) override {
    QPainter p;
    begin(p);
    p.fillRect(page(), theme_->background);
    refreshList();
    const auto* tensor = model_->at(model_->rowOf(hub_.tensor()));
    if (!tensor)
      return note(p, canvas(),
                  hub_.tensor().isEmpty() || model_->rowCount() == 0
                      ? "No tensor is recorded here. --capture stats would show them."
                      : "Choose a tensor of this place in the list.");
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
    picture_.first_row -= static_cast<std::int64_t>(steps * 3);
    clampView();
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
        fit();
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
  void makeList() {
    model_ = new TensorListModel(this);
    filter_ = new QLineEdit(this);
    filter_->setPlaceholderText("Filter by name");
    filter_->setAccessibleName("Filter tensors by name");
    filter_->setClearButtonEnabled(true);
    list_ = new QTableView(this);
    list_->setAccessibleName("Recorded tensors");
    list_->setModel(model_);
    list_->setSelectionBehavior(QAbstractItemView::SelectRows);
    list_->setSelectionMode(QAbstractItemView::SingleSelection);
    list_->setShowGrid(false);
    list_->verticalHeader()->hide();
    list_->verticalHeader()->setDefaultSectionSize(24);
    list_->horizontalHeader()->setStretchLastSection(true);
    list_->setFrameShape(QFrame::NoFrame);
    list_->setTabKeyNavigation(false);
    live_ = new QToolButton(this);
    live_->setText("Read live");
    live_->setToolTip("Read this slice from the paused run");
    live_->setEnabled(false);
    connect(filter_, &QLineEdit::textChanged, this, [this] {
      listed_ = {};
      update();
    });
    connect(list_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            [this](const QModelIndex& to) {
              if (const auto* t = model_->at(to.row())) choose(QString::fromStdString(t->name));
            });
    connect(live_, &QToolButton::clicked, this, [this] { hub_.requestLiveRead(asked()); });
  }

  double listWidth() const { return std::clamp(pageWidth() * 0.36, 210.0, 460.0); }
  QRectF canvas() const {
    return {listWidth() + 8, 64, pageWidth() - listWidth() - 16, pageHeight() - 68};
  }
  void place() {
    auto scaled = [&](const QRectF& box) {
      return QRectF(box.topLeft() * zoom_, box.size() * zoom_).toRect();
    };
    filter_->setGeometry(scaled({16, 12, listWidth() - 24 - 96, 29}));
    live_->setGeometry(scaled({listWidth() - 96, 12, 88, 29}));
    list_->setGeometry(scaled({16, 50, listWidth() - 24, pageHeight() - 58}));
    const int widths[] = {118, 112, 58, 116};
    for (int c = 0; c < 4; ++c) list_->setColumnWidth(c, static_cast<int>(widths[c] * zoom_));
  }

  /// The list belongs to a ring step and rank; made again when those change.
  void refreshList() {
    const std::pair now{hub_.moment(), hub_.selectedRank()};
    if (listed_ == std::optional(now)) {
      select();
      return;
    }
    listed_ = now;
    shown_ = nullptr;
    model_->show(hub_.trace(), hub_.place(), hub_.selectedRank(), filter_->text());
    select();
  }
  void select() {
    const int row = model_->rowOf(hub_.tensor());
    if (row < 0 || row == list_->currentIndex().row()) return;
    const QSignalBlocker quiet(list_->selectionModel());
    list_->selectRow(row);
    list_->scrollTo(model_->index(row, 0));
  }
  void choose(const QString& name) {
    if (name == hub_.tensor()) return;
    shown_ = nullptr;
    hub_.selectTensor(name);
  }

  LiveRead asked() const {
    LiveRead read;
    read.rank = hub_.selectedRank();
    read.tensor = hub_.tensor();
    read.lead = lead_;
    if (const auto* tensor = model_->at(model_->rowOf(hub_.tensor())))
      read.layer = tensor->place.layer;
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
    if (shown_ == &hub_.trace() && shown_tensor_ == tensor.id && shown_lead_ == lead_) return;
    shown_ = &hub_.trace();
    shown_tensor_ = tensor.id;
    shown_lead_ = lead_;
    if (const LiveRead* read = live()) {
      const std::vector<std::int64_t> last(
          read->shape.end() -
              std::min<std::ptrdiff_t>(2, static_cast<std::ptrdiff_t>(read->shape.size())),
          read->shape.end());
      picture_.slice = tensorSlice(last, read->values, {});
    } else {
      const auto values = hub_.trace().values(tensor);
      picture_.slice = values ? tensorSlice(tensor.shape, *values, lead_) : TensorSlice();
    }
    fit();
    fitCells();
    clampView();
  }
  /// As large as the whole slice allows; what is too large for that is scrolled.
  void fitCells() {
    const QRectF matrix = tensorAreas(canvas()).matrix;
    if (picture_.slice.values.empty()) return;
    picture_.cell =
        std::clamp(std::min(matrix.width() / static_cast<double>(picture_.slice.columns),
                            matrix.height() / static_cast<double>(picture_.slice.rows)),
                   kSmallestFit, kLargestFit);
  }
  void fit() {
    picture_.histogram = valueHistogram(picture_.slice.values, kBins);
    picture_.range = autoFit(picture_.slice.values);
  }
  QString whyEmpty(const traces::TensorRecord& tensor) const {
    if (const LiveRead* read = live(); read && !read->failure.isEmpty())
      return "▲ " + read->failure;
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
    const auto& slice = picture_.slice;
    if (slice.values.empty()) return;
    picture_.row = std::clamp<std::int64_t>(row, 0, slice.rows - 1);
    picture_.column = std::clamp<std::int64_t>(column, 0, slice.columns - 1);
    const QRectF matrix = tensorAreas(canvas()).matrix;
    const auto rows = static_cast<std::int64_t>(matrix.height() / picture_.cell);
    const auto columns = static_cast<std::int64_t>(matrix.width() / picture_.cell);
    picture_.first_row = std::clamp(picture_.first_row, picture_.row - rows + 1, picture_.row);
    picture_.first_column =
        std::clamp(picture_.first_column, picture_.column - columns + 1, picture_.column);
    clampView();
    update();
  }
  void clampView() {
    auto& s = picture_;
    s.first_row =
        std::clamp<std::int64_t>(s.first_row, 0, std::max<std::int64_t>(0, s.slice.rows - 1));
    s.first_column =
        std::clamp<std::int64_t>(s.first_column, 0, std::max<std::int64_t>(0, s.slice.columns - 1));
    s.row = std::clamp<std::int64_t>(s.row, 0, std::max<std::int64_t>(0, s.slice.rows - 1));
    s.column =
        std::clamp<std::int64_t>(s.column, 0, std::max<std::int64_t>(0, s.slice.columns - 1));
  }
  void zoomCells(double steps) {
    picture_.cell = std::clamp(picture_.cell * std::pow(1.25, steps), kSmallestCell, kLargestCell);
    pick(picture_.row, picture_.column);
  }
  /// The next index of the last dimension before the matrix, carrying into those before it.
  void moveLead(int by) {
    const auto* tensor = model_->at(model_->rowOf(hub_.tensor()));
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

  TensorListModel* model_;
  QLineEdit* filter_;
  QTableView* list_;
  QToolButton* live_;
  TensorPicture picture_;
  std::vector<std::int64_t> lead_, shown_lead_;
  std::optional<std::pair<int, int>> listed_;
  const traces::Trace* shown_ = nullptr;
  std::uint64_t shown_tensor_ = 0;
  int dragging_ = 0;  // −1 the low handle, 1 the high one
};

}  // namespace

View* makeTensorView(Hub& hub, QWidget* parent) {
  return new TensorView(hub, parent);
}

}  // namespace ringscope::viz
