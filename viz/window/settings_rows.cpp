// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/settings_rows.h"

#include <QHBoxLayout>
#include <QStyle>
#include <algorithm>
#include <climits>

#include "viz/kit/choice.h"

namespace ringscope::viz {
namespace {

/// Property: the largest number that a box offers.
constexpr const char* kMost = "most";

constexpr const char* kDiffers = "differs";          // read by the style sheet
constexpr const char* kExplanation = "explanation";  // the tooltip without a mark

/// The columns: names, marks, boxes.
QGridLayout* makeGrid(QWidget* form) {
  auto* grid = new QGridLayout(form);
  grid->setContentsMargins(0, 0, 0, 0);
  grid->setVerticalSpacing(6);
  grid->setHorizontalSpacing(0);
  grid->setColumnMinimumWidth(1, 8);  // a mark fills this gap, so that no box becomes narrower
  grid->setColumnStretch(2, 1);
  return grid;
}

}  // namespace

SettingsRows::SettingsRows(QWidget* parent) : QWidget(parent), grid_(makeGrid(this)) {}

QComboBox* SettingsRows::makeChoice(const QString& name, const QStringList& options) {
  auto* box = new Choice(this);
  box->addItems(options);
  box->setAccessibleName(name);
  connect(box, &QComboBox::currentTextChanged, this, &SettingsRows::changed);
  return box;
}

QSpinBox* SettingsRows::makeNumber(const QString& name, int most, int value) {
  auto* box = new QSpinBox(this);
  box->setRange(1, most);
  box->setProperty(kMost, most);
  box->setValue(value);
  box->setAccessibleName(name);
  connect(box, &QSpinBox::valueChanged, this, &SettingsRows::changed);
  return box;
}

QLineEdit* SettingsRows::makeText(const QString& name, const QString& placeholder,
                                  const QString& explanation) {
  auto* box = new QLineEdit(this);
  box->setAccessibleName(name);
  box->setPlaceholderText(placeholder);
  box->setToolTip(explanation);
  connect(box, &QLineEdit::textChanged, this, &SettingsRows::changed);
  return box;
}

TickBox* SettingsRows::makeTick(const QString& text, const QString& name,
                                const QString& explanation) {
  auto* box = new TickBox(text, this);
  box->setAccessibleName(name);
  box->setToolTip(explanation);
  connect(box, &QCheckBox::toggled, this, &SettingsRows::changed);
  return box;
}

QPushButton* SettingsRows::makePicker(const QString& name) {
  auto* button = new QPushButton(this);
  button->setObjectName("picker");
  button->setAccessibleName(name);
  return button;
}

QLabel* SettingsRows::add(const QString& name, const QList<QWidget*>& widgets) {
  auto* label = new QLabel(name, this);
  label->setObjectName("dim");
  auto* cells = new QHBoxLayout();
  cells->setSpacing(6);
  for (QWidget* widget : widgets) cells->addWidget(widget, 1);
  const int row = grid_->rowCount();
  grid_->addWidget(label, row, 0);
  auto* mark = new QLabel("•", this);
  mark->hide();
  mark->setObjectName("differs");
  mark->setFixedWidth(8);
  mark->setProperty("row", name);
  grid_->addWidget(mark, row, 1);
  grid_->addLayout(cells, row, 2);
  rows_.append({mark, widgets});
  return label;
}

void SettingsRows::addWide(QWidget* widget) {
  grid_->addWidget(widget, grid_->rowCount(), 0, 1, 3);
}

void SettingsRows::showNumber(QSpinBox* box, std::int64_t value) {
  const int number = static_cast<int>(std::clamp<std::int64_t>(value, INT_MIN, INT_MAX));
  box->setRange(std::min(1, number), std::max(box->property(kMost).toInt(), number));
  box->setValue(number);
}

void SettingsRows::showOption(QComboBox* box, const QString& option) {
  if (box->findText(option) < 0) box->addItem(option);
  box->setCurrentText(option);
}

void SettingsRows::mark(QWidget* box, const QString& shown_value) {
  if (!box->property(kExplanation).isValid()) box->setProperty(kExplanation, box->toolTip());
  const QString sentence =
      shown_value.isEmpty() ? QString() : "The run on show has " + shown_value + ".";
  QString tip = box->property(kExplanation).toString();
  if (!sentence.isEmpty()) tip = tip.isEmpty() ? sentence : tip + "\n" + sentence;
  box->setToolTip(Qt::mightBeRichText(tip) ? Qt::convertFromPlainText(tip) : tip);
  box->setAccessibleDescription(sentence);
  if (box->property(kDiffers).toBool() == !sentence.isEmpty()) return;
  box->setProperty(kDiffers, !sentence.isEmpty());
  box->style()->unpolish(box);
  box->style()->polish(box);
}

void SettingsRows::unmarkAll() {
  for (const Row& row : rows_)
    for (QWidget* box : row.boxes) mark(box, {});
  markRows();
}

void SettingsRows::markRows() {
  for (const Row& row : rows_) {
    const bool differs = std::ranges::any_of(
        row.boxes, [](const QWidget* box) { return box->property(kDiffers).toBool(); });
    row.mark->setVisible(differs);
  }
}

}  // namespace ringscope::viz
