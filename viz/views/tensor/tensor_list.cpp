// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/views/tensor/tensor_list.h"

#include <QHeaderView>

#include "traces/format/trace/capture_advice.h"
#include "viz/kit/passing_list.h"

namespace ringscope::viz {
namespace {

constexpr int kHeadHeight = 29, kLiveWidth = 88, kListGap = 8, kRowHeight = 24;
constexpr int kKeyHeight = 20;
constexpr int kScrollBar = 18;
constexpr int kNameWidth = 118;  // a narrower name says nothing any more

/// Beside the name, in the order in which they get room; each leaves the name at least so much.
struct Column {
  int column, width, name_width;
};
constexpr Column kColumns[] = {{TensorListModel::kMarks, 100, kNameWidth},
                               {TensorListModel::kShape, 112, kNameWidth},
                               {TensorListModel::kRange, 158, kNameWidth},
                               {TensorListModel::kType, 62, 250}};

}  // namespace

TensorList::TensorList(QWidget* parent) : QWidget(parent) {
  model_ = new TensorListModel(this);
  filter_ = new QLineEdit(this);
  filter_->setPlaceholderText("Filter by name");
  filter_->setAccessibleName("Filter tensors by name");
  filter_->setClearButtonEnabled(true);
  live_ = new QToolButton(this);
  live_->setText("Read live");
  live_->setToolTip("Read this slice from the paused run");
  live_->setEnabled(false);
  makeTable();
  key_ = new QLabel("· hash and statistics only, no values", this);
  key_->setObjectName("dim");
  connect(filter_, &QLineEdit::textChanged, this, &TensorList::filterChanged);
  connect(live_, &QToolButton::clicked, this, &TensorList::liveReadClicked);
}

void TensorList::makeTable() {
  table_ = new PassingList<QTableView>(this);
  table_->setAccessibleName("Recorded tensors");
  table_->setModel(model_);
  table_->setSelectionBehavior(QAbstractItemView::SelectRows);
  table_->setSelectionMode(QAbstractItemView::SingleSelection);
  table_->setShowGrid(false);
  table_->setWordWrap(false);
  table_->setTextElideMode(Qt::ElideMiddle);  // gradients differ at the end of their names
  table_->setFrameShape(QFrame::NoFrame);
  table_->setTabKeyNavigation(false);
  table_->verticalHeader()->hide();
  table_->horizontalHeader()->setDefaultAlignment(Qt::AlignLeft | Qt::AlignVCenter);
  table_->horizontalHeader()->setHighlightSections(false);
  connect(table_->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
          [this](const QModelIndex& to) {
            if (const auto* row = model_->at(to.row()))
              Q_EMIT chosen(QString::fromStdString(row->name()));
          });
}

void TensorList::setZoom(double zoom) {
  zoom_ = zoom;
  layOut();
}

void TensorList::layOut() {
  const auto scaled = [this](int length) { return static_cast<int>(length * zoom_); };
  const int head = scaled(kHeadHeight), live = scaled(kLiveWidth), gap = scaled(kListGap);
  filter_->setGeometry(0, 0, width() - live - gap, head);
  live_->setGeometry(width() - live, 0, live, head);
  key_->setVisible(model_->hasTensorsWithoutValues());
  const int key = key_->isHidden() ? 0 : scaled(kKeyHeight);
  table_->setGeometry(0, head + gap, width(), height() - head - gap - key);
  key_->setGeometry(0, height() - key, width(), key);
  table_->verticalHeader()->setDefaultSectionSize(scaled(kRowHeight));
  table_->horizontalHeader()->setFixedHeight(scaled(kRowHeight));
  int left = width() - kScrollBar;
  for (const auto& [column, length, name] : kColumns) {
    const bool wanted = column != TensorListModel::kMarks || model_->hasMarks();
    const bool fits = wanted && left - scaled(length) >= scaled(name);
    table_->setColumnHidden(column, !fits);
    table_->setColumnWidth(column, scaled(length));
    if (fits) left -= scaled(length);
  }
  table_->setColumnWidth(TensorListModel::kName, std::max(left, scaled(kNameWidth)));
}

void TensorList::show(std::vector<TensorRow> rows, const QString& chosen) {
  model_->show(std::move(rows));
  layOut();
  select(chosen);
}

void TensorList::select(const QString& name) {
  const int row = rowShownFor(name);
  if (isEmpty() || row == table_->currentIndex().row()) return;
  const QSignalBlocker quiet(table_->selectionModel());
  table_->selectRow(row);
  table_->scrollTo(model_->index(row, 0));
}

int TensorList::rowShownFor(const QString& name) const {
  return std::max(0, model_->tensorRow(name));
}

std::string TensorList::whyEmpty(const traces::Trace& trace) const {
  return filter().empty() ? "No tensor is recorded here; " +
                                traces::captureAdvice(trace, "stats", "would show them") + "."
                          : "No tensor that is recorded here has “" + filter() + "” in its name.";
}

}  // namespace ringscope::viz
