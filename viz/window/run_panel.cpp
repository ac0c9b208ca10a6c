// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/run_panel.h"

#include <QGridLayout>
#include <QPainter>
#include <QVBoxLayout>

#include "traces/mistakes/catalogue.h"

namespace ringscope::viz {
namespace {

/// Those that the engine can inject, in words that fit the panel.
const std::pair<const char*, const char*> kMistakes[] = {
    {"missing_position_ids", "Position ids not sharded"},
    {"naive_sum_merge", "Sum without LSE weights"},
    {"missing_cp_grad_reduce", "No gradient sync over cp"},
};

/// A choice that shows that it is one: style sheets leave the standard arrow out.
class Choice : public QComboBox {
 public:
  using QComboBox::QComboBox;

 protected:
  void paintEvent(QPaintEvent* event) override {
    QComboBox::paintEvent(event);
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(palette().color(QPalette::WindowText), 1.4));
    const QPointF tip(width() - 13, height() / 2.0 + 2);
    painter.drawPolyline(QPolygonF{tip + QPointF(-3.5, -3.5), tip, tip + QPointF(3.5, -3.5)});
  }
};

QLabel* section(const QString& text, QWidget* parent) {
  auto* label = new QLabel(text, parent);
  label->setObjectName("section");
  return label;
}

}  // namespace

QComboBox* RunPanel::choice(const QString& name, const QStringList& options) {
  auto* box = new Choice(this);
  box->addItems(options);
  box->setAccessibleName(name);
  return box;
}

void RunPanel::addRow(QGridLayout* grid, const QString& name, QWidget* widget) {
  auto* label = new QLabel(name, this);
  label->setObjectName("dim");
  const int row = grid->rowCount();
  grid->addWidget(label, row, 0);
  grid->addWidget(widget, row, 1);
}

RunPanel::RunPanel(Hub& hub, EngineLink& engine, QWidget* parent)
    : QWidget(parent), hub_(hub), engine_(engine) {
  setObjectName("panel");
  setAttribute(Qt::WA_StyledBackground);
  auto* column = new QVBoxLayout(this);
  column->setContentsMargins(20, 18, 16, 16);
  column->setSpacing(8);
  column->addWidget(section("RUN", this));
  auto* grid = new QGridLayout;
  grid->setVerticalSpacing(6);
  grid->setColumnStretch(1, 1);
  model_ = new QLabel("sample, 2 layers", this);
  text_label_ = new QLabel("sample text", this);
  transport_ = new QLabel("local, threads", this);
  cp_ = new QSpinBox(this);
  cp_->setRange(1, 16);
  cp_->setValue(4);
  cp_->setAccessibleName("Ranks");
  steps_ = new QSpinBox(this);
  steps_->setRange(1, 1000);
  steps_->setValue(10);
  steps_->setAccessibleName("Training steps");
  seq_len_ = choice("Sequence length", {"64", "128", "256", "512", "1024", "2048"});
  seq_len_->setCurrentText("256");
  balance_ = choice("Balance", {"head_tail", "none"});
  mask_ = choice("Mask", {"causal", "full"});
  dtype_ = choice("Type", {"float32", "float64"});
  addRow(grid, "Model", model_);
  addRow(grid, "Text", text_label_);
  addRow(grid, "Ranks (cp)", cp_);
  addRow(grid, "Tokens", seq_len_);
  addRow(grid, "Balance", balance_);
  addRow(grid, "Mask", mask_);
  addRow(grid, "Type", dtype_);
  addRow(grid, "Steps", steps_);
  addRow(grid, "Transport", transport_);
  column->addLayout(grid);

  auto* buttons = new QGridLayout;
  buttons->setSpacing(8);
  run_ = new QPushButton("Run", this);
  run_->setObjectName("primary");
  pause_ = new QPushButton("Pause", this);
  step_ = new QPushButton("Ring step", this);
  step_->setToolTip("One ring step of the paused run");
  stop_ = new QPushButton("Stop", this);
  buttons->addWidget(run_, 0, 0);
  buttons->addWidget(pause_, 0, 1);
  buttons->addWidget(step_, 1, 0);
  buttons->addWidget(stop_, 1, 1);
  column->addLayout(buttons);
  run_state_ = new QLabel(this);
  run_state_->setObjectName("dim");
  run_state_->setWordWrap(true);
  column->addWidget(run_state_);
  column->addSpacing(8);

  auto* head = new QGridLayout;
  head->addWidget(section("MISTAKES", this), 0, 0);
  injected_ = new QLabel(this);
  injected_->setObjectName("dim");
  head->addWidget(injected_, 0, 1, Qt::AlignRight);
  column->addLayout(head);
  for (const auto& [id, title] : kMistakes) {
    auto* box = new QCheckBox(title, this);
    box->setProperty("id", id);
    if (const auto* mistake = traces::findMistake(id))
      box->setToolTip(QString::fromStdString(mistake->title));
    mistakes_ << box;
    connect(box, &QCheckBox::toggled, this, &RunPanel::refresh);
    column->addWidget(box);
  }
  column->addStretch(1);

  connect(cp_, &QSpinBox::valueChanged, this, &RunPanel::refresh);
  for (QComboBox* box : {seq_len_, balance_, mask_, dtype_})
    connect(box, &QComboBox::currentTextChanged, this, &RunPanel::refresh);
  connect(run_, &QPushButton::clicked, this, &RunPanel::runRequested);
  connect(pause_, &QPushButton::clicked, this, [this] {
    engine_.state() == EngineLink::State::kPaused ? engine_.resume() : engine_.pause();
  });
  connect(step_, &QPushButton::clicked, this, [this] { engine_.step("stage"); });
  connect(stop_, &QPushButton::clicked, this, [this] { engine_.stop(); });
  connect(&engine, &EngineLink::stateChanged, this, &RunPanel::refresh);
  connect(&hub, &Hub::traceChanged, this, &RunPanel::showRecorded);
  refresh();
}

RunConfig RunPanel::config() const {
  RunConfig config;
  config.text = text_;
  config.cp = cp_->value();
  config.steps = steps_->value();
  config.seq_len = seq_len_->currentText().toInt();
  config.balance = balance_->currentText();
  config.mask = mask_->currentText();
  config.dtype = dtype_->currentText();
  for (const QCheckBox* box : mistakes_)
    if (box->isChecked()) config.mistakes << box->property("id").toString();
  return config;
}

void RunPanel::setConfig(const RunConfig& config) {
  text_ = config.text;
  text_label_->setText(text_.isEmpty() ? "sample text" : text_.first().section('/', -1));
  cp_->setValue(config.cp);
  steps_->setValue(config.steps);
  const QString seq_len = QString::number(config.seq_len);
  if (seq_len_->findText(seq_len) < 0) seq_len_->addItem(seq_len);
  seq_len_->setCurrentText(seq_len);
  balance_->setCurrentText(config.balance);
  mask_->setCurrentText(config.mask);
  dtype_->setCurrentText(config.dtype);
  for (QCheckBox* box : mistakes_)
    box->setChecked(config.mistakes.contains(box->property("id").toString()));
}

/// A recording that was opened says itself how it was made.
void RunPanel::showRecorded() {
  if (hub_.live()) return;
  const auto& run = hub_.trace().run();
  if (run.empty()) return;
  RunConfig config = this->config();
  config.cp = run.value("cp", config.cp);
  config.steps = run.value("steps", config.steps);
  config.seq_len = run.value("seq_len", config.seq_len);
  config.balance = QString::fromStdString(run.value("balance", config.balance.toStdString()));
  config.mask = QString::fromStdString(run.value("mask", config.mask.toStdString()));
  setConfig(config);
}

void RunPanel::refresh() {
  using State = EngineLink::State;
  const State state = engine_.state();
  // What cannot work is refused here, with the reason, before anything starts.
  const int chunks = balance_->currentText() == "head_tail" ? 2 * cp_->value() : cp_->value();
  const int tokens = seq_len_->currentText().toInt();
  QString refusal;
  if (balance_->currentText() == "head_tail" && mask_->currentText() == "full")
    refusal = "head_tail evens out causal work; with a full mask choose balance none";
  else if (tokens % chunks != 0)
    refusal = QString("%1 tokens do not divide into %2 equal parts").arg(tokens).arg(chunks);
  run_->setEnabled(refusal.isEmpty() && state != State::kStopping);
  run_->setText(hub_.empty() && !engine_.active() ? "Run" : "Run again");
  pause_->setText(state == State::kPaused ? "Continue" : "Pause");
  pause_->setEnabled(state == State::kRunning || state == State::kPaused);
  step_->setEnabled(state == State::kPaused);
  stop_->setEnabled(engine_.active());
  run_state_->setText(refusal.isEmpty() ? engine_.sentence() : refusal);
  const auto chosen = config().mistakes.size();
  injected_->setText(chosen == 0 ? "none injected" : QString("%1 injected").arg(chosen));
}

}  // namespace ringscope::viz
