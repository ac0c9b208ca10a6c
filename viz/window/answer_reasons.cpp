// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/answer_reasons.h"

#include <QGridLayout>
#include <QLabel>

#include "viz/scene/memory_estimate.h"

namespace ringscope::viz {
namespace {

/// Returns the number that is chosen; nullopt for "any".
std::optional<int> chosenNumber(const QComboBox& box) {
  return box.currentIndex() > 0 ? std::optional(box.currentIndex() - 1) : std::nullopt;
}

void offerNumbers(QComboBox& box, std::int64_t count) {
  box.clear();
  box.addItem(QObject::tr("any"));
  for (std::int64_t number = 0; number < count; ++number) box.addItem(QString::number(number));
}

}  // namespace

AnswerReasons::AnswerReasons(QWidget* parent) : QWidget(parent) {
  auto* grid = new QGridLayout(this);
  grid->setContentsMargins(0, 0, 0, 0);
  grid->setHorizontalSpacing(8);
  grid->setVerticalSpacing(4);
  const std::tuple<QString, QString, QComboBox**> parts[] = {
      {tr("Where? Rank"), tr("Where? Rank"), &rank_},
      {tr("Step"), tr("Where? Training step"), &step_},
      {tr("Layer"), tr("Where? Layer"), &layer_}};
  int column = 0;
  for (const auto& [words, name, field] : parts) {
    auto* label = new QLabel(words, this);
    label->setObjectName("dim");
    *field = new QComboBox(this);
    (*field)->setAccessibleName(name);
    grid->addWidget(label, 0, column);
    grid->addWidget(*field, 1, column);
    grid->setColumnStretch(column++, 1);
  }
  because_ = new QLineEdit(this);
  because_->setAccessibleName(tr("Because"));
  because_->setPlaceholderText(tr("Because …"));
  grid->addWidget(because_, 2, 0, 1, column);
}

void AnswerReasons::startOver(const traces::RunSpec& run) {
  offerNumbers(*rank_, run.worldSize());
  offerNumbers(*step_, run.steps);
  offerNumbers(*layer_, run.model.layers > 0 ? run.model.layers : ModelShape().layers);
  because_->clear();
}

NamedPlace AnswerReasons::place() const {
  return {chosenNumber(*rank_), chosenNumber(*step_), chosenNumber(*layer_)};
}

}  // namespace ringscope::viz
