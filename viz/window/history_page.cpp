// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/history_page.h"

#include <QApplication>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QVBoxLayout>
#include <algorithm>

#include "traces/format/core/prose.h"
#include "viz/kit/action_button.h"
#include "viz/scene/units.h"

namespace ringscope::viz {
namespace {

constexpr int kHistoryMargin = 24, kWidestHistory = 1320, kSearchWidth = 340;

}  // namespace

HistoryPage::HistoryPage(QWidget* parent) : QWidget(parent) {
  setAccessibleName(tr("Runs and recordings"));
  actions_ = new HistoryActions(this);
  auto* middle = new QHBoxLayout(this);
  middle->setContentsMargins(kHistoryMargin, kHistoryMargin, kHistoryMargin, 16);
  auto* body = new QWidget(this);
  body->setMaximumWidth(kWidestHistory);
  middle->addStretch(1);
  middle->addWidget(body, 100);
  middle->addStretch(1);
  auto* rows = new QVBoxLayout(body);
  rows->setContentsMargins(0, 0, 0, 0);
  rows->setSpacing(12);
  rows->addWidget(makeHead());
  list_ = new QListView(body);
  list_->setObjectName("cards");
  list_->setAccessibleName(tr("Runs and recordings"));
  list_->setSelectionMode(QAbstractItemView::ExtendedSelection);
  list_->setVerticalScrollMode(QAbstractItemView::ScrollPerPixel);
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  list_->setEditTriggers(QAbstractItemView::EditKeyPressed);
  list_->setMouseTracking(true);
  list_->installEventFilter(this);
  rows->addWidget(list_, 1);
  empty_ = new QLabel(body);
  empty_->setObjectName("dim");
  empty_->setAlignment(Qt::AlignCenter);
  rows->addWidget(empty_, 1);
  told_ = new ElidedLabel(body);
  told_->setObjectName("dim");
  told_->hide();
  rows->addWidget(told_);
  rows->addWidget(actions_);
  connectActions();
  hide();
}

QWidget* HistoryPage::makeHead() {
  auto* head = new QWidget(this);
  auto* row = new QHBoxLayout(head);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(8);
  auto* title = new QLabel(tr("Runs and recordings"), head);
  title->setObjectName("hero");
  total_ = new QLabel(head);
  total_->setObjectName("dim");
  search_ = new EntryField(head);
  search_->setAccessibleName(tr("Search runs and recordings"));
  search_->setPlaceholderText(tr("Search names, settings and verdicts"));
  search_->setClearButtonEnabled(true);
  search_->setFixedWidth(kSearchWidth);
  auto* close = makeAction(tr("Close"), tr("Back to what was on show (Esc)"), head);
  row->addWidget(title);
  row->addSpacing(8);
  row->addWidget(total_, 1);
  row->addWidget(search_);
  row->addWidget(close);
  connect(close, &QToolButton::clicked, this, &HistoryPage::closeRequested);
  connect(search_, &EntryField::left, this, &HistoryPage::closeRequested);
  connect(search_, &EntryField::entered, actions_, &HistoryActions::open);
  connect(search_, &EntryField::moved, this, [this](int by) {
    const int last = list_->model()->rowCount() - 1;
    const int row_now = list_->currentIndex().row();
    if (last >= 0) select(model_->index(std::clamp(row_now + by, 0, last)));
  });
  return head;
}

void HistoryPage::connectActions() {
  connect(actions_, &HistoryActions::openRequested, this, &HistoryPage::openRequested);
  connect(actions_, &HistoryActions::compareRequested, this, &HistoryPage::compareRequested);
  connect(actions_, &HistoryActions::pinRequested, this, &HistoryPage::pinRequested);
  connect(actions_, &HistoryActions::folderRequested, this, &HistoryPage::folderRequested);
  connect(actions_, &HistoryActions::removeConfirmed, this, &HistoryPage::removeConfirmed);
  connect(actions_, &HistoryActions::answered, list_, qOverload<>(&QWidget::setFocus));
  connect(actions_, &HistoryActions::renameRequested, this,
          [this] { list_->edit(list_->currentIndex()); });
}

void HistoryPage::setModel(HistoryModel& model) {
  model_ = &model;
  list_->setModel(&model);
  delegate_ = new HistoryDelegate(model, this);
  list_->setItemDelegate(delegate_);
  connect(search_, &QLineEdit::textChanged, &model, &HistoryModel::setFilter);
  connect(list_->selectionModel(), &QItemSelectionModel::selectionChanged, this,
          &HistoryPage::refresh);
  connect(list_, &QListView::doubleClicked, actions_, &HistoryActions::open);
  // After a change of the list the row of the same recording is selected again.
  connect(&model, &QAbstractItemModel::modelAboutToBeReset, this, [this] {
    const HistoryRow* row = model_->row(list_->currentIndex());
    list_->setProperty("kept", row ? row->entry.path : QString());
  });
  connect(&model, &QAbstractItemModel::modelReset, this, [this] {
    const QModelIndex same = model_->indexFor(list_->property("kept").toString());
    select(same.isValid() ? same : model_->index(0));
    refresh();
  });
}

void HistoryPage::setShown(const QString& path) {
  shown_ = path.isEmpty() ? QString() : entryPath(path);
  refresh();
}

void HistoryPage::begin() {
  search_->setFocus();
  search_->selectAll();
  tell({});
  select(model_->index(0));
}

/// Selects a row alone, whatever modifiers of a shortcut are held.
void HistoryPage::select(const QModelIndex& index) {
  list_->selectionModel()->setCurrentIndex(index, QItemSelectionModel::ClearAndSelect);
  list_->scrollTo(index);
}

void HistoryPage::setTheme(const Theme& theme) {
  if (delegate_) delegate_->setTheme(theme);
  list_->viewport()->update();
}

void HistoryPage::tell(const QString& sentence) {
  told_->setText(sentence);
  told_->setVisible(!sentence.isEmpty());
}

QList<HistoryEntry> HistoryPage::selected() const {
  QList<HistoryEntry> entries;
  if (!model_) return entries;
  QModelIndexList rows = list_->selectionModel()->selectedIndexes();
  std::ranges::sort(rows, {}, &QModelIndex::row);
  for (const QModelIndex& index : rows)
    if (const HistoryRow* row = model_->row(index)) entries << row->entry;
  return entries;
}

void HistoryPage::refresh() {
  if (!model_) return;
  actions_->setSelected(selected(), shown_);
  const int shown = model_->rowCount();
  list_->setVisible(shown > 0);
  empty_->setVisible(shown == 0);
  empty_->setText(model_->total() > 0
                      ? tr("Nothing matches “%1”.").arg(search_->text())
                      : tr("No runs yet. Run the sample (F5) or open a recording (Ctrl+O); it is "
                           "listed here from then on."));
  const auto total = static_cast<std::int64_t>(model_->total());
  total_->setText(shown == total ? QString::fromStdString(traces::describeCount(total))
                                 : tr("%1 of %2").arg(shown).arg(total));
}

/// Keys of the list. Letters without a modifier are free here, because the list is not searched by
/// typing.
bool HistoryPage::eventFilter(QObject* watched, QEvent* event) {
  // A field in a row passes Enter on, which ends its editing only.
  const bool is_renaming = list_->viewport()->isAncestorOf(QApplication::focusWidget());
  if (watched != list_ || event->type() != QEvent::KeyPress || is_renaming)
    return QWidget::eventFilter(watched, event);
  const auto& key = *static_cast<QKeyEvent*>(event);
  switch (plainKey(key)) {
    case Qt::Key_Return:
    case Qt::Key_Enter:
      actions_->open();
      return true;
    case Qt::Key_Delete:
      actions_->askToRemove();
      return true;
    case Qt::Key_P:
      actions_->pin();
      return true;
    case Qt::Key_C:
      actions_->compare();
      return true;
    case Qt::Key_Slash:
      search_->setFocus();
      return true;
    default:
      return QWidget::eventFilter(watched, event);
  }
}

}  // namespace ringscope::viz
