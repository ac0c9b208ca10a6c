// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/stage_area.h"

#include <QVBoxLayout>

namespace ringscope::viz {
namespace {

constexpr const char* kBothRunsView = "compare";

}  // namespace

QWidget* makeSeparator(QWidget* parent) {
  auto* line = new QWidget(parent);
  line->setObjectName("separator");
  line->setFixedHeight(1);
  return line;
}

StageArea::StageArea(Viewing& viewing, Viewing& before, JobLink& job, QWidget* parent)
    : QWidget(parent), viewing_(viewing), before_(before) {
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  makeTabs(column);
  column->addWidget(makeSeparator(this));
  job_bar_ = new JobBar(job, this);
  notice_ = new NoticeBar(this);
  go_to_ = new GoToBar(viewing, this);
  compare_ = new CompareBar(before, viewing, this);
  compare_->hide();
  for (QWidget* bar : std::initializer_list<QWidget*>{go_to_, job_bar_, notice_, compare_})
    column->addWidget(bar);
  stages_ = new QHBoxLayout;
  stages_->setSpacing(1);
  stage_ = new Stage(viewing, this);
  stages_->addWidget(stage_, 1);
  notes_ = new NotesPanel(this);
  stages_->addWidget(notes_);
  column->addLayout(stages_, 1);
  problem_card_ = new ProblemCard(this);
  connect(&viewing.navigator, &Navigator::cursorChanged, this, &StageArea::followBefore);
  connect(go_to_, &GoToBar::left, this, [this] { current()->setFocus(); });
  connect(go_to_, &GoToBar::chosen, this, [this](const GoToTarget& target) {
    viewing_.navigator.lead(shown(), target.cursor);
    Q_EMIT viewing_.navigator.told(QString::fromStdString(target.sentence));
  });
}

void StageArea::makeTabs(QLayout* column) {
  auto* box = new QWidget(this);
  auto* bar = new QHBoxLayout(box);
  bar->setContentsMargins(8, 4, 8, 0);
  bar->setSpacing(0);
  for (const ViewEntry& entry : viewRegistry()) {
    auto* tab = new QToolButton(box);
    tab->setObjectName("tab");
    tab->setText(entry.title);
    tab->setCheckable(true);
    connect(tab, &QToolButton::clicked, this, [this, name = entry.name] { show(name); });
    tabs_ << tab;
    bar->addWidget(tab);
  }
  nameTabs();
  tabs_.first()->setChecked(true);
  bar->addStretch(1);
  column->addWidget(box);
}

void StageArea::nameTabs() {
  const auto& entries = viewRegistry();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    QToolButton* tab = tabs_[static_cast<qsizetype>(i)];
    const bool closed = viewing_.navigator.cursor().sealed && entries[i].judges;
    tab->setEnabled(!closed);
    tab->setToolTip(closed ? entries[i].title + ": closed until this round of the quiz is revealed"
                           : QString("%1 (%2)").arg(entries[i].title,
                                                    viewKey(i).toString(QKeySequence::NativeText)));
  }
}

void StageArea::setSealed(bool sealed) {
  viewing_.navigator.setSealed(sealed);
  nameTabs();
  const auto& shown = viewRegistry()[static_cast<std::size_t>(stage_->currentIndex())];
  if (sealed && shown.judges) show(viewRegistry().front().name);
}

QList<View*> StageArea::views() const {
  return before_stage_ ? stage_->views() + before_stage_->views() : stage_->views();
}

void StageArea::show(const QString& name) {
  for (const ViewEntry& entry : viewRegistry())
    if (entry.name == name && entry.judges && viewing_.navigator.cursor().sealed)
      return Q_EMIT viewing_.navigator.told(entry.title +
                                            " is closed until this round of the quiz is revealed");
  stage_->show(name);
  if (before_stage_) before_stage_->show(name);
  // The Compare view shows both runs by itself.
  if (before_stage_) before_stage_->setVisible(compare_->isVisible() && name != kBothRunsView);
  compare_->setOverCards(name == kBothRunsView);
  followBefore();
  for (int t = 0; t < tabs_.size(); ++t) tabs_[t]->setChecked(t == stage_->currentIndex());
  Q_EMIT viewShown();
  stage_->currentWidget()->setFocus();
}

void StageArea::showNext(int tabs) {
  const int count = static_cast<int>(tabs_.size());
  int next = stage_->currentIndex();
  do next = (next + tabs + count) % count;
  while (!tabs_[next]->isEnabled());
  show(viewRegistry()[static_cast<std::size_t>(next)].name);
}

bool StageArea::focusSearch() {
  return stage_->views()[stage_->currentIndex()]->focusSearch();
}

void StageArea::showBeside() {
  if (!before_stage_) {
    before_stage_ = new Stage(before_, this);
    stages_->insertWidget(0, before_stage_, 1);
    Q_EMIT stageAdded();
  }
  compare_->setVisible(true);
  show(stage_->shown());
}

void StageArea::hideBeside() {
  if (before_stage_) before_stage_->hide();
  compare_->hide();
}

void StageArea::goBack() {
  if (visited_.empty()) return;
  const auto [view, place] = visited_.back();
  visited_.pop_back();
  viewing_.navigator.setPlace(place);
  show(view);
}

void StageArea::followBefore() {
  const bool beside = before_stage_ && before_stage_->isVisible();
  if (!beside || before_.session.trace().moments().empty() ||
      viewing_.session.trace().moments().empty())
    return;
  Cursor cursor = viewing_.navigator.cursor();
  cursor.axis = before_.navigator.cursor().axis;
  before_.navigator.setCursor(cursor);
}

}  // namespace ringscope::viz
