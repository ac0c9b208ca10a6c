// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/command_palette.h"

#include <QApplication>
#include <QHeaderView>
#include <QKeySequence>
#include <QResizeEvent>
#include <QVBoxLayout>
#include <algorithm>

namespace ringscope::viz {
namespace {

constexpr int kPaletteWidth = 560, kPaletteTop = 56, kCommandHeight = 28, kMostCommands = 12,
              kPaletteMargin = 8;

/// Reports whether a text contains every one of these words, in any order.
bool containsWords(const QString& text, const QString& words) {
  const QStringList wanted = words.split(' ', Qt::SkipEmptyParts);
  return std::ranges::all_of(
      wanted, [&](const QString& word) { return text.contains(word, Qt::CaseInsensitive); });
}

}  // namespace

QString commandKey(const QAction& action) {
  const auto key =
      action.shortcut().isEmpty() ? action.data().value<QKeySequence>() : action.shortcut();
  return key.toString(QKeySequence::NativeText);
}

CommandPalette::CommandPalette(QWidget& window) : QFrame(&window), window_(window) {
  setObjectName("palette");
  setAttribute(Qt::WA_StyledBackground);
  setAccessibleName("Commands");
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(kPaletteMargin, kPaletteMargin, kPaletteMargin, kPaletteMargin);
  column->setSpacing(kPaletteMargin);
  field_ = new EntryField(this);
  field_->setAccessibleName("Filter commands");
  field_->setPlaceholderText("Type words of a command");
  list_ = new QTableWidget(0, 2, this);
  list_->setAccessibleName("Commands of the window");
  list_->setFocusPolicy(Qt::NoFocus);
  list_->setShowGrid(false);
  list_->setFrameShape(QFrame::NoFrame);
  list_->setSelectionBehavior(QAbstractItemView::SelectRows);
  list_->setSelectionMode(QAbstractItemView::SingleSelection);
  list_->setEditTriggers(QAbstractItemView::NoEditTriggers);
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  list_->horizontalHeader()->hide();
  list_->verticalHeader()->hide();
  list_->verticalHeader()->setDefaultSectionSize(kCommandHeight);
  list_->horizontalHeader()->setSectionResizeMode(0, QHeaderView::Stretch);
  list_->horizontalHeader()->setSectionResizeMode(1, QHeaderView::ResizeToContents);
  column->addWidget(field_);
  column->addWidget(list_, 1);
  connect(field_, &QLineEdit::textChanged, this, &CommandPalette::filter);
  connect(field_, &EntryField::left, this, &CommandPalette::close);
  connect(field_, &EntryField::entered, this, [this] { run(list_->currentRow()); });
  connect(field_, &EntryField::moved, this,
          [this](int rows) { choose(list_->currentRow() + rows); });
  connect(list_, &QTableWidget::cellClicked, this, [this](int row) { run(row); });
  field_->installEventFilter(this);
  window.installEventFilter(this);
  hide();
}

void CommandPalette::open() {
  focused_before_ = QApplication::focusWidget();
  field_->clear();
  filter();
  place();
  show();
  raise();
  field_->setFocus(Qt::ShortcutFocusReason);
}

void CommandPalette::close() {
  hide();
  if (focused_before_) focused_before_->setFocus(Qt::OtherFocusReason);
}

void CommandPalette::filter() {
  listed_.clear();
  for (QAction* action : window_.actions())
    if (!action->text().isEmpty() &&
        containsWords(action->text() + " " + commandKey(*action), field_->text()))
      listed_ << action;
  // A command that begins with the words is meant more often than one that contains them.
  std::stable_partition(listed_.begin(), listed_.end(), [this](const QAction* action) {
    return action->text().startsWith(field_->text().trimmed(), Qt::CaseInsensitive);
  });
  list_->setRowCount(static_cast<int>(listed_.size()));
  for (int row = 0; row < list_->rowCount(); ++row) {
    list_->setItem(row, 0, new QTableWidgetItem(listed_[row]->text()));
    auto* key = new QTableWidgetItem(commandKey(*listed_[row]));
    key->setTextAlignment(Qt::AlignRight | Qt::AlignVCenter);
    list_->setItem(row, 1, key);
  }
  choose(0);
}

void CommandPalette::choose(int row) {
  if (listed_.isEmpty()) return;
  list_->setCurrentCell(std::clamp(row, 0, static_cast<int>(listed_.size()) - 1), 0);
  field_->setAccessibleDescription(list_->currentItem()->text());
}

void CommandPalette::run(int row) {
  if (row < 0 || row >= listed_.size()) return;
  QAction* action = listed_[row];
  close();
  action->trigger();
}

void CommandPalette::place() {
  const int width = std::min(kPaletteWidth, window_.width() - 4 * kPaletteMargin);
  const int height = std::min<int>(
      field_->sizeHint().height() + kMostCommands * kCommandHeight + 4 * kPaletteMargin,
      window_.height() - kPaletteTop);
  setGeometry((window_.width() - width) / 2, kPaletteTop, width, height);
}

bool CommandPalette::eventFilter(QObject* watched, QEvent* event) {
  if (watched == &window_ && event->type() == QEvent::Resize && isVisible()) place();
  if (watched == field_ && event->type() == QEvent::FocusOut) {
    // The window may lose the focus for a while, and so may the field to its own menu.
    const Qt::FocusReason reason = static_cast<QFocusEvent*>(event)->reason();
    if (reason != Qt::ActiveWindowFocusReason && reason != Qt::PopupFocusReason) hide();
  }
  return QFrame::eventFilter(watched, event);
}

}  // namespace ringscope::viz
