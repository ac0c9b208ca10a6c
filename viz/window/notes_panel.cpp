// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/notes_panel.h"

#include <QApplication>
#include <QHBoxLayout>
#include <QStyledItemDelegate>
#include <QVBoxLayout>

#include "traces/format/trace/trace.h"
#include "viz/kit/action_button.h"

namespace ringscope::viz {
namespace {

constexpr int kNotesWidth = 300, kNotesMargin = 16, kBesideWords = 20;

/// Draws the place of a note below its words. Only the words are edited.
class NoteDelegate : public QStyledItemDelegate {
 public:
  using QStyledItemDelegate::QStyledItemDelegate;

 protected:
  void initStyleOption(QStyleOptionViewItem* option, const QModelIndex& index) const override {
    QStyledItemDelegate::initStyleOption(option, index);
    const QString place = index.data(Qt::UserRole).toString();
    option->text =
        option->text.isEmpty() ? "★ " + place : option->text + QChar::LineSeparator + place;
    option->features |= QStyleOptionViewItem::HasDisplay;
  }
};

}  // namespace

NotesPanel::NotesPanel(QWidget* parent) : QWidget(parent) {
  setObjectName("panel");
  setAttribute(Qt::WA_StyledBackground);
  setAccessibleName(tr("Notes"));
  setFixedWidth(kNotesWidth);
  auto* rows = new QVBoxLayout(this);
  rows->setContentsMargins(kNotesMargin, 12, kNotesMargin, 12);
  rows->setSpacing(8);
  auto* head = new QHBoxLayout;
  auto* title = new QLabel(tr("Notes"), this);
  title->setObjectName("title");
  auto* close = makeAction(tr("Close"), tr("Hide the notes (Ctrl+Shift+N)"), this, kBesideWords);
  head->addWidget(title, 1);
  head->addWidget(close);
  rows->addLayout(head);
  moment_ = new ElidedLabel(this);
  moment_->setObjectName("dim");
  rows->addWidget(moment_);
  field_ = new EntryField(this);
  field_->setAccessibleName(tr("Note about this moment"));
  field_->setPlaceholderText(tr("A note about this moment"));
  add_ = makeAction(tr("Add"), tr("Keep it; without words it is a bookmark (Enter)"), this,
                    kBesideWords);
  auto* entry = new QHBoxLayout;
  entry->addWidget(field_, 1);
  entry->addWidget(add_);
  rows->addLayout(entry);
  list_ = new QListWidget(this);
  list_->setAccessibleName(tr("Notes about this recording"));
  list_->setWordWrap(true);
  list_->setSpacing(2);
  list_->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  list_->setItemDelegate(new NoteDelegate(list_));
  list_->installEventFilter(this);
  rows->addWidget(list_, 1);
  empty_ =
      new QLabel(tr("No notes yet. Go to a moment, write a line above, and press Enter."), this);
  kept_ = new QLabel(this);
  for (QLabel* label : {empty_, kept_}) {
    label->setObjectName("dim");
    label->setWordWrap(true);
  }
  rows->addWidget(empty_, 1, Qt::AlignTop);
  makeButtons();
  rows->addWidget(buttons_);
  rows->addWidget(kept_);
  connectField(close);
  hide();
}

void NotesPanel::connectField(const QToolButton* close) {
  const auto add = [this] {
    Q_EMIT added(field_->text().trimmed());
    field_->setText({});
  };
  connect(close, &QToolButton::clicked, this, &NotesPanel::closed);
  connect(add_, &QToolButton::clicked, this, add);
  connect(field_, &EntryField::entered, this, add);
  connect(field_, &EntryField::left, this, &NotesPanel::closed);
  connect(list_, &QListWidget::itemClicked, this, &NotesPanel::go);
  connect(list_, &QListWidget::itemChanged, this, [this](const QListWidgetItem* item) {
    if (filling_) return;
    const auto row = static_cast<std::size_t>(list_->row(item));
    book_->setText(row, item->text().trimmed());
  });
}

void NotesPanel::makeButtons() {
  buttons_ = new QWidget(this);
  auto* row = new QHBoxLayout(buttons_);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(8);
  edit_ = makeAction(tr("Edit"), tr("Change the words (F2)"), this, kBesideWords);
  remove_ =
      makeAction(tr("Delete"), tr("Delete the note; Ctrl+Z brings it back"), this, kBesideWords);
  undo_ = makeAction(tr("Undo"), tr("Take the last change back (Ctrl+Z)"), this, kBesideWords);
  redo_ = makeAction(tr("Redo"), tr("Make it again (Ctrl+Shift+Z)"), this, kBesideWords);
  for (QToolButton* button : {edit_, remove_, undo_, redo_}) row->addWidget(button);
  row->addStretch(1);
  connect(edit_, &QToolButton::clicked, this, [this] { list_->editItem(list_->currentItem()); });
  connect(remove_, &QToolButton::clicked, this, &NotesPanel::removeCurrent);
  connect(undo_, &QToolButton::clicked, this, [this] { book_->undo(); });
  connect(redo_, &QToolButton::clicked, this, [this] { book_->redo(); });
  connect(list_, &QListWidget::currentRowChanged, this, [this](int current) {
    for (QToolButton* button : {edit_, remove_}) button->setEnabled(current >= 0);
  });
}

void NotesPanel::setBook(NoteBook& book) {
  book_ = &book;
  connect(book_, &NoteBook::changed, this, &NotesPanel::fill, Qt::QueuedConnection);
  fill();
}

void NotesPanel::setMoment(const QString& words) {
  moment_->setText(words);
}

void NotesPanel::begin() {
  show();
  field_->setFocus(Qt::ShortcutFocusReason);
}

void NotesPanel::fill() {
  filling_ = true;
  const int current = list_->currentRow();
  list_->clear();
  for (const MomentNote& note : book_->notes()) {
    auto* item = new QListWidgetItem(note.text, list_);
    const QString place = QString::fromStdString(traces::describe(note.place));
    item->setData(Qt::UserRole, place);
    item->setData(Qt::AccessibleTextRole, note.text + " · " + place);
    item->setToolTip(place + " · " + note.view);
    item->setFlags(item->flags() | Qt::ItemIsEditable);
  }
  list_->setCurrentRow(std::min(current, list_->count() - 1));
  filling_ = false;
  const bool is_open = !book_->recording().isEmpty();
  list_->setVisible(list_->count() > 0);
  empty_->setVisible(list_->count() == 0);
  for (QWidget* part : std::initializer_list<QWidget*>{field_, add_}) part->setEnabled(is_open);
  for (QToolButton* button : {edit_, remove_}) button->setEnabled(list_->currentRow() >= 0);
  undo_->setEnabled(book_->canUndo());
  redo_->setEnabled(book_->canRedo());
  const QString& problem = book_->problem();
  kept_->setText(!is_open ? tr("Open a recording, or wait for the end of the run.")
                 : !problem.isEmpty()
                     ? tr("▲ The notes cannot be saved: %1. Free some space.").arg(problem)
                 : book_->isBeside()
                     ? tr("Kept beside the recording.")
                     : tr("Kept in your data folder, because the recording's cannot be written."));
}

void NotesPanel::go() {
  const auto row = static_cast<std::size_t>(list_->currentRow());
  if (row < book_->notes().size()) Q_EMIT chosen(book_->notes()[row]);
}

void NotesPanel::removeCurrent() {
  if (list_->currentRow() >= 0) book_->remove(static_cast<std::size_t>(list_->currentRow()));
}

bool NotesPanel::eventFilter(QObject* watched, QEvent* event) {
  const bool is_editing = list_->viewport()->isAncestorOf(QApplication::focusWidget());
  if (watched == list_ && event->type() == QEvent::KeyPress && !is_editing) {
    const int key = plainKey(*static_cast<QKeyEvent*>(event));
    if (key == Qt::Key_Delete) return removeCurrent(), true;
    if (key == Qt::Key_Return || key == Qt::Key_Enter) return go(), true;
  }
  return QWidget::eventFilter(watched, event);
}

}  // namespace ringscope::viz
