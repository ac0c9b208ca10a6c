// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/settings_form.h"

#include <QFileDialog>
#include <QHBoxLayout>
#include <QMessageBox>
#include <algorithm>
#include <climits>

#include "traces/format/core/error.h"
#include "traces/plan/run_rules.h"
#include "viz/kit/choice.h"
#include "viz/scene/units.h"

namespace ringscope::viz {
namespace {

template <traces::NamedEnum E>
E chosen(const QComboBox* box) {
  return traces::parse<E>(box->currentText().toStdString());
}

/// Every name of an enumeration, in its order.
template <traces::NamedEnum E>
QStringList allNames() {
  QStringList names;
  for (const char* name : traces::EnumNames<E>::kNames) names << name;
  return names;
}

/// Property: the largest number that a box offers.
constexpr const char* kMost = "most";

/// Widens the range of the box when the value lies outside: a box never shows another number.
void showNumber(QSpinBox* box, std::int64_t value) {
  const int number = static_cast<int>(std::clamp<std::int64_t>(value, INT_MIN, INT_MAX));
  box->setRange(std::min(1, number), std::max(box->property(kMost).toInt(), number));
  box->setValue(number);
}

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

/// Adds the option when the box does not offer it.
void showOption(QComboBox* box, const QString& option) {
  if (box->findText(option) < 0) box->addItem(option);
  box->setCurrentText(option);
}

}  // namespace

QComboBox* SettingsForm::choice(const QString& name, const QStringList& options) {
  auto* box = new Choice(this);
  box->addItems(options);
  box->setAccessibleName(name);
  connect(box, &QComboBox::currentTextChanged, this, &SettingsForm::refresh);
  return box;
}

QSpinBox* SettingsForm::number(const QString& name, int most, int value) {
  auto* box = new QSpinBox(this);
  box->setRange(1, most);
  box->setProperty(kMost, most);
  box->setValue(value);
  box->setAccessibleName(name);
  connect(box, &QSpinBox::valueChanged, this, &SettingsForm::refresh);
  return box;
}

TickBox* SettingsForm::tick(const QString& text, const QString& name, const QString& explanation) {
  auto* box = new TickBox(text, this);
  box->setAccessibleName(name);
  box->setToolTip(explanation);
  connect(box, &QCheckBox::toggled, this, &SettingsForm::refresh);
  return box;
}

QPushButton* SettingsForm::picker(const QString& name) {
  auto* button = new QPushButton(this);
  button->setObjectName("picker");
  button->setAccessibleName(name);
  return button;
}

QLabel* SettingsForm::addRow(const QString& name, const QList<QWidget*>& widgets) {
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

SettingsForm::SettingsForm(QWidget* parent) : QWidget(parent) {
  grid_ = makeGrid(this);
  model_ = picker("Model");
  model_->setToolTip("Choose a Hugging Face Llama folder (config.json, model.safetensors)");
  text_button_ = picker("Text");
  text_button_->setToolTip("Choose text files to train on");
  estimate_ = new QLabel(this);
  estimate_->setObjectName("dim");
  estimate_->setWordWrap(true);
  dp_ = number("Data parallel ranks", traces::kMostLocalRanks, 1);
  dp_->setToolTip("Ranks that share the batch; each has a sequence of its own");
  tp_ = number("Tensor parallel ranks", traces::kMostLocalRanks, 1);
  tp_->setToolTip("Ranks that share each layer");
  cp_ = number("Ranks", traces::kMostLocalRanks, 4);
  cp_->setToolTip("Ranks that share a sequence: the ring that is shown");
  steps_ = number("Training steps", 1000, 10);
  seq_len_ = choice("Sequence length", {"64", "128", "256", "512", "1024", "2048"});
  strategy_ = choice("Strategy", allNames<traces::Strategy>());
  balance_ = choice("Balance", {"head_tail", "none", "striped", "per_document"});
  mask_ = choice("Mask", {"causal", "full", "window", "documents"});
  window_ = number("Window", 1 << 20, 64);
  window_->setToolTip("Keys seen to the left, the query's own included");
  kernel_ = choice("Kernel", allNames<traces::Kernel>());
  kernel_->setToolTip("The operator that attends a block");
  p2p_ = choice("Hops", allNames<traces::PointToPoint>());
  p2p_->setToolTip("How the send and the receive of a hop are posted: together, or each by itself");
  launch_ = choice("Launch", {"threads", "processes"});
  launch_->setToolTip("What a rank is");
  dtype_ = choice("Type", {"float32", "float64", "bfloat16"});
  sinks_ = tick("sinks", "Attention sinks", "A learnt logit a head in every row's softmax");
  addRow("Model", {model_});
  addRow("Text", {text_button_});
  for (QSpinBox* box : {dp_, tp_, cp_}) {  // three in a row have no room for more than two digits
    box->setButtonSymbols(QAbstractSpinBox::NoButtons);
    box->setObjectName("narrow");
    box->setMinimumWidth(0);
  }
  addRow("dp, tp, cp", {dp_, tp_, cp_});
  steps_->setToolTip("Training steps");
  steps_->setButtonSymbols(QAbstractSpinBox::NoButtons);
  steps_->setObjectName("narrow");
  addRow("Tokens", {seq_len_, steps_});
  addRow("Strategy", {strategy_});
  addRow("Balance", {balance_});
  addRow("Mask", {mask_});
  window_label_ = addRow("Window", {window_});
  addRow("Type", {dtype_, sinks_});
  addRow("Kernel", {kernel_});
  addRow("Hops", {p2p_});
  addRow("Ranks are", {launch_});
  grid_->addWidget(estimate_, grid_->rowCount(), 0, 1, 3);
  connect(model_, &QPushButton::clicked, this, &SettingsForm::chooseModel);
  connect(text_button_, &QPushButton::clicked, this, &SettingsForm::chooseText);
  seq_len_->setCurrentText("256");
  setModel("");
  setText({});
}

void SettingsForm::chooseModel() {
  const QString folder = QFileDialog::getExistingDirectory(
      this, "A Hugging Face Llama folder; cancel for the sample model", model_path_);
  setModel(folder);
}

void SettingsForm::chooseText() {
  const QStringList files =
      QFileDialog::getOpenFileNames(this, "Text files; cancel for the sample text");
  given_.tokens.clear();
  setText(files);
}

void SettingsForm::setModel(const QString& folder) {
  try {
    shape_ = folder.isEmpty() ? ModelShape() : ModelShape::load(folder.toStdString());
    model_path_ = folder;
  } catch (const Error& error) {
    QMessageBox::warning(this, "Model", error.what());
    return;
  }
  model_->setText(
      QString::fromStdString(shape_.name + ", " + traces::describeCount(shape_.layers, "layer")));
  refresh();
}

void SettingsForm::setText(const QStringList& files) {
  text_ = files;
  const QString tokens = QString::fromStdString(given_.tokens).section('/', -1);
  text_button_->setText(files.isEmpty()     ? (tokens.isEmpty() ? "sample text" : tokens)
                        : files.size() == 1 ? files.first().section('/', -1)
                                            : QString("%1 files").arg(files.size()));
  refresh();
}

void SettingsForm::refresh() {
  // Not every control is there yet while the first of them are made.
  if (!window_label_) return;
  for (QWidget* widget : {static_cast<QWidget*>(window_), static_cast<QWidget*>(window_label_)})
    widget->setVisible(mask_->currentText() == "window");
  // There is no room for the word beside three digits.
  const int steps = steps_->value();
  steps_->setSuffix(steps > 99 ? "" : steps > 1 ? " steps" : " step");
  offerAllowed();
  refreshEstimate();
  Q_EMIT changed();
}

void SettingsForm::refreshEstimate() {
  const auto bytes = estimateMemory(shape_, seq_len_->currentText().toInt(), tp_->value(),
                                    cp_->value(), dtype_->currentText().toStdString());
  estimate_->setText(
      QString("about %1 a rank, %2 of it sharded")
          .arg(describeBytes(bytes.total()).c_str(), describeBytes(bytes.sharded_bytes).c_str()));
}

RunConfig SettingsForm::config() const {
  RunConfig config = given_;
  config.mistakes.clear();
  config.trace.clear();
  config.model_dir = model_path_.toStdString();
  config.text.clear();
  for (const QString& file : text_) config.text.push_back(file.toStdString());
  config.dp = dp_->value();
  config.tp = tp_->value();
  config.cp = cp_->value();
  config.steps = steps_->value();
  config.seq_len = seq_len_->currentText().toLongLong();
  config.strategy = chosen<traces::Strategy>(strategy_);
  config.balance = chosen<traces::Balance>(balance_);
  config.mask = chosen<traces::MaskKind>(mask_);
  config.window = config.mask == traces::MaskKind::kWindow ? window_->value() : 0;
  config.dtype = chosen<traces::DType>(dtype_);
  config.sinks = sinks_->isChecked();
  config.kernel = chosen<traces::Kernel>(kernel_);
  config.p2p = chosen<traces::PointToPoint>(p2p_);
  config.launch = chosen<traces::Launch>(launch_);
  // The memory of a kernel depends on the size of the heads.
  config.model.layers = shape_.layers;
  config.model.heads = shape_.heads;
  config.model.kv_heads = shape_.kv_heads;
  config.model.head_dim = shape_.head_dim;
  // How many ranks share heads was chosen for another split.
  if (config.strategy != given_.strategy || config.cp != given_.cp) config.ulysses = 0;
  return config;
}

void SettingsForm::setConfig(const RunConfig& config) {
  given_ = config;
  const QString model = QString::fromStdString(config.model_dir);
  if (model != model_path_) setModel(model);
  QStringList files;
  for (const std::string& file : config.text) files << QString::fromStdString(file);
  setText(files);
  showNumber(dp_, config.dp);
  showNumber(tp_, config.tp);
  showNumber(cp_, config.cp);
  showNumber(steps_, config.steps);
  showOption(seq_len_, QString::number(config.seq_len));
  strategy_->setCurrentText(name(config.strategy));
  balance_->setCurrentText(name(traces::chosenBalance(config)));
  mask_->setCurrentText(name(config.mask));
  if (config.window > 0) showNumber(window_, config.window);
  showOption(dtype_, name(config.dtype));
  sinks_->setChecked(config.sinks);
  kernel_->setCurrentText(name(config.kernel));
  p2p_->setCurrentText(name(config.p2p));
  launch_->setCurrentText(name(config.launch));
}

}  // namespace ringscope::viz
