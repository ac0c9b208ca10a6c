// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/answer_panel.h"

#include <algorithm>

#include "traces/analysis/mistakes/catalogue.h"

namespace ringscope::viz {
namespace {

/// Returns the doctor's finding about the mistake, else its first finding, else nothing.
std::optional<traces::Finding> proofOf(const traces::Diagnosis& diagnosis, const std::string& id) {
  const auto findings = diagnosis.findings();
  if (findings.empty()) return std::nullopt;
  const auto own = std::ranges::find(findings, id, &traces::Finding::rule);
  return own == findings.end() ? findings.front() : *own;
}

}  // namespace

AnswerPanel::AnswerPanel(QWidget* parent) : QWidget(parent) {
  setObjectName("panel");
  setAttribute(Qt::WA_StyledBackground);
  setAccessibleName(tr("Your answer"));
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(20, 18, 20, 16);
  column->setSpacing(8);
  const auto label = [&](const char* style, const QString& words) {
    auto* made = new QLabel(words, this);
    made->setObjectName(style);
    made->setTextFormat(Qt::PlainText);
    made->setWordWrap(true);
    column->addWidget(made);
    return made;
  };
  const auto button = [&](const QString& words) {
    auto* made = new QPushButton(words, this);
    made->setAutoDefault(true);
    column->addWidget(made);
    return made;
  };
  label("section", tr("YOUR ANSWER"));
  label("title", tr("What is wrong?"));
  list_ = new QVBoxLayout;
  list_->setSpacing(6);
  column->addLayout(list_);
  group_ = new QButtonGroup(this);
  reasons_ = new AnswerReasons(this);
  column->addWidget(reasons_);
  answer_ = button(tr("Answer"));
  reveal_ = button(tr("Reveal with the proof"));
  column->addSpacing(8);
  verdict_ = label("title", {});
  title_ = label("plain", {});
  next_ = button({});
  next_->setObjectName("primary");
  page_ = button(tr("Read its page"));
  proof_ = label("dim", {});
  proof_->setTextInteractionFlags(Qt::TextSelectableByMouse);
  column->addStretch(1);
  connect(group_, &QButtonGroup::idToggled, this, &AnswerPanel::refreshButtons);
  connect(answer_, &QPushButton::clicked, this, [this] {
    const auto chosen = static_cast<std::size_t>(group_->checkedId());
    Q_EMIT answered(QString::fromStdString(answers_.at(chosen)), reasons_->place(),
                    reasons_->because());
  });
  connect(reveal_, &QPushButton::clicked, this, &AnswerPanel::revealRequested);
  connect(page_, &QPushButton::clicked, this, &AnswerPanel::pageRequested);
  connect(next_, &QPushButton::clicked, this, &AnswerPanel::nextRequested);
}

void AnswerPanel::show(const Quiz& quiz, const std::optional<traces::Diagnosis>& diagnosis) {
  if (answers_ != quiz.round().answers || round_ != quiz.round().number) showAnswers(quiz);
  answered_ = quiz.isAnswered();
  const bool open = !quiz.isSealed();
  for (std::size_t i = 0; i < answers_.size(); ++i) {
    QRadioButton* box = boxes_[static_cast<qsizetype>(i)];
    box->setEnabled(!answered_);
    box->setVisible(!open || box->isChecked() || answers_[i] == quiz.round().mistake);
  }
  reasons_->setVisible(!open);
  reasons_->setEnabled(!answered_);
  const bool had_focus = reveal_->hasFocus();
  answer_->setVisible(!open);
  reveal_->setVisible(!open);
  for (QWidget* part : {static_cast<QWidget*>(title_), static_cast<QWidget*>(proof_),
                        static_cast<QWidget*>(verdict_), static_cast<QWidget*>(page_),
                        static_cast<QWidget*>(next_)})
    part->setVisible(open);
  for (QLabel* words : {verdict_, title_, proof_}) words->clear();
  if (open) showProof(quiz, diagnosis);
  next_->setText(quiz.isLast() ? tr("Finish the quiz") : tr("Next round"));
  refreshButtons();
  if (had_focus && open) next_->setFocus();
}

void AnswerPanel::showAnswers(const Quiz& quiz) {
  round_ = quiz.round().number;
  answers_ = quiz.round().answers;
  reasons_->startOver(quiz.round().run);
  qDeleteAll(boxes_);
  boxes_.clear();
  for (std::size_t i = 0; i < answers_.size(); ++i) {
    const auto* mistake = traces::findMistake(answers_[i]);
    auto* box = new QRadioButton(QString::fromStdString(mistake->label), this);
    box->setObjectName("answer");
    box->setToolTip(QString::fromStdString(mistake->title));
    box->setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    group_->addButton(box, static_cast<int>(i));
    list_->addWidget(box);
    boxes_ << box;
  }
}

void AnswerPanel::showProof(const Quiz& quiz, const std::optional<traces::Diagnosis>& diagnosis) {
  const QuizResult& result = quiz.sheet().results().back();
  verdict_->setText(result.answer.empty() ? tr("– No answer")
                    : result.isRight()    ? tr("✓ Right")
                                          : tr("✗ Wrong"));
  if (result.where_right)
    verdict_->setText(verdict_->text() + " · " +
                      (*result.where_right ? tr("✓ right place") : tr("✗ another place")));
  title_->setText(QString::fromStdString(traces::findMistake(quiz.round().mistake)->title + "."));
  if (!diagnosis) return proof_->setText(tr("The doctor reads the recording …"));
  const auto proof = proofOf(*diagnosis, quiz.round().mistake);
  proof_->setText(proof ? tr("Proof: %1").arg(QString::fromStdString(proof->evidence))
                        : tr("The doctor finds no proof in this recording."));
}

void AnswerPanel::refreshButtons() {
  answer_->setEnabled(!answered_ && group_->checkedId() >= 0);
  answer_->setText(answered_ ? tr("Answered") : tr("Answer"));
  answer_->setObjectName(answered_ ? "" : "primary");
  reveal_->setEnabled(answered_);
  reveal_->setObjectName(answered_ ? "primary" : "");
  for (QPushButton* button : {answer_, reveal_}) {  // their colour depends on the name
    button->setStyleSheet(" ");
    button->setStyleSheet({});
  }
}

}  // namespace ringscope::viz
