// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/history_actions.h"

#include <QVBoxLayout>
#include <algorithm>

#include "viz/kit/action_button.h"

namespace ringscope::viz {
namespace {

QHBoxLayout* makePlainRow(QWidget* box) {
  auto* row = new QHBoxLayout(box);
  row->setContentsMargins(0, 0, 0, 0);
  row->setSpacing(8);
  return row;
}

}  // namespace

HistoryActions::HistoryActions(QWidget* parent) : QWidget(parent) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  actions_ = new QWidget(this);
  question_ = new QWidget(this);
  column->addWidget(actions_);
  column->addWidget(question_);
  question_->hide();
  makeButtons();
  makeQuestion();
}

void HistoryActions::makeButtons() {
  QHBoxLayout* row = makePlainRow(actions_);
  open_ = new QPushButton(tr("Open"), actions_);
  open_->setObjectName("primary");
  open_->setToolTip(tr("Open the selected recording (Enter)"));
  compare_ = makeAction(tr("Compare both"), {}, actions_);
  pin_ =
      makeAction(tr("Unpin"), tr("A pinned run is never removed, and stays on top (P)"), actions_);
  rename_ = makeAction(tr("Rename"), tr("Give it a name of your own (F2)"), actions_);
  folder_ = makeAction(tr("Show in folder"), tr("Open the folder that has it"), actions_);
  remove_ = makeAction(tr("Remove from list …"), {}, actions_);
  row->addWidget(open_);
  for (QToolButton* button : {compare_, pin_, rename_, folder_}) row->addWidget(button);
  row->addStretch(1);
  row->addWidget(remove_);
  connect(open_, &QPushButton::clicked, this, &HistoryActions::open);
  connect(compare_, &QToolButton::clicked, this, &HistoryActions::compare);
  connect(pin_, &QToolButton::clicked, this, &HistoryActions::pin);
  connect(rename_, &QToolButton::clicked, this, &HistoryActions::renameRequested);
  connect(folder_, &QToolButton::clicked, this,
          [this] { Q_EMIT folderRequested(selected_.first().path); });
  connect(remove_, &QToolButton::clicked, this, &HistoryActions::askToRemove);
}

void HistoryActions::makeQuestion() {
  QHBoxLayout* row = makePlainRow(question_);
  asked_ = new ElidedLabel(question_);
  asked_->setObjectName("wrong");
  yes_ = makeAction(tr("Take off"), {}, question_);
  no_ = makeAction(tr("Keep"), tr("Change nothing"), question_);
  row->addWidget(asked_, 1);
  row->addWidget(no_);
  row->addWidget(yes_);
  connect(no_, &QToolButton::clicked, this, [this] { answer(false); });
  connect(yes_, &QToolButton::clicked, this, [this] { answer(true); });
}

void HistoryActions::answer(bool removes) {
  const auto entries = selected_;
  question_->hide();
  actions_->show();
  Q_EMIT answered();
  if (removes) Q_EMIT removeConfirmed(entries);
}

void HistoryActions::setSelected(const QList<HistoryEntry>& selected, const QString& shown) {
  selected_ = selected;
  const bool one = selected.size() == 1;
  const auto all = [&](auto test) {
    return !selected.isEmpty() && std::ranges::all_of(selected, test);
  };
  const bool own = all([](const auto& entry) { return entry.is_own; });
  const bool foreign = all([](const auto& entry) { return !entry.is_own; });
  const bool there = all([](const auto& entry) { return !entry.is_missing; });
  open_->setEnabled(one && there);
  const bool with_shown = one && !shown.isEmpty() && selected.first().path != shown;
  compare_->setEnabled(there && (selected.size() == 2 || with_shown));
  compare_->setText(selected.size() == 2 ? tr("Compare both") : tr("Compare"));
  compare_->setToolTip(compare_->isEnabled()
                           ? tr("Show where the results and costs differ (C)")
                           : tr("Select two recordings (Ctrl+click), or open another one first"));
  pin_->setEnabled(there);
  pin_->setText(one && selected.first().pinned ? tr("Unpin") : tr("Pin"));
  rename_->setEnabled(one);
  folder_->setEnabled(one && there && !selected.first().is_remote);
  remove_->setEnabled(own || foreign);
  remove_->setText(own || selected.isEmpty() ? tr("Delete …") : tr("Remove from list …"));
  question_->hide();
  actions_->show();
}

void HistoryActions::open() {
  const auto entries = selected_;  // the list may be read again meanwhile
  if (open_->isEnabled()) Q_EMIT openRequested(entries.first().path);
}

void HistoryActions::compare() {
  if (!compare_->isEnabled()) return;
  const auto entries = selected_;
  entries.size() == 2 ? Q_EMIT compareRequested(entries[0].path, entries[1].path)
                      : Q_EMIT compareRequested({}, entries[0].path);
}

void HistoryActions::pin() {
  if (!pin_->isEnabled()) return;
  const auto entries = selected_;  // the list is read again after the first
  for (const HistoryEntry& entry : entries) Q_EMIT pinRequested(entry);
}

void HistoryActions::askToRemove() {
  if (!remove_->isEnabled()) return;
  const bool deletes = selected_.first().is_own;
  const QString what =
      selected_.size() == 1
          ? selected_.first().name
          : tr("these %1 recordings").arg(static_cast<qlonglong>(selected_.size()));
  asked_->setText(deletes ? tr("Delete %1 from the disk, with its notes?").arg(what)
                          : tr("Take %1 off this list? The recording stays.").arg(what));
  yes_->setText(deletes ? tr("Delete") : tr("Take off"));
  actions_->hide();
  question_->show();
  no_->setFocus();
}

}  // namespace ringscope::viz
