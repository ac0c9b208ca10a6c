// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/settings_form.h"

#include <QFileDialog>
#include <QMessageBox>
#include <QStandardItemModel>
#include <QVBoxLayout>
#include <algorithm>

#include "traces/format/core/error.h"
#include "traces/plan/run_rules.h"
#include "viz/scene/units.h"

namespace ringscope::viz {
namespace {

template <traces::NamedEnum E>
E chosen(const QComboBox* box) {
  return traces::parse<E>(box->currentText().toStdString());
}

/// Returns every name of an enumeration, in its order.
template <traces::NamedEnum E>
QStringList allNames() {
  QStringList names;
  for (const char* name : traces::EnumNames<E>::kNames) names << name;
  return names;
}

/// Returns an empty string when the texts are the same, or the recording does not name its text.
QString describeShownText(const RunConfig& now, const traces::RunSpec& shown) {
  if (shown.text.empty() && shown.tokens.empty()) return {};
  std::vector<std::string> text = now.text;
  try {
    text = now.spec().text;
  } catch (const Error&) {  // there is no sample text, which is then not the same
  }
  if (text == shown.text && now.tokens == shown.tokens) return {};
  QStringList files;
  for (const std::string& file : shown.text) files << QString::fromStdString(file);
  if (!shown.tokens.empty()) files << QString::fromStdString(shown.tokens);
  return files.join(", ");
}

}  // namespace

SettingsForm::SettingsForm(QWidget* parent) : QWidget(parent), rows_(new SettingsRows(this)) {
  auto* whole = new QVBoxLayout(this);
  whole->setContentsMargins(0, 0, 0, 0);
  whole->addWidget(rows_);
  model_ = rows_->makePicker("Model");
  model_->setToolTip("Choose a Hugging Face Llama folder (config.json, model.safetensors)");
  text_button_ = rows_->makePicker("Text");
  text_button_->setToolTip("Choose text files to train on");
  estimate_ = new QLabel(rows_);
  estimate_->setObjectName("dim");
  estimate_->setWordWrap(true);
  mesh_.dp = rows_->makeNumber("Data parallel ranks", traces::kMostLocalRanks, 1);
  mesh_.dp->setToolTip("Ranks that share the batch; each has a sequence of its own");
  mesh_.tp = rows_->makeNumber("Tensor parallel ranks", traces::kMostLocalRanks, 1);
  mesh_.tp->setToolTip("Ranks that share each layer");
  mesh_.cp = rows_->makeNumber("Ranks", traces::kMostLocalRanks, 4);
  mesh_.cp->setToolTip("Ranks that share a sequence: the ring that is shown");
  steps_ = rows_->makeNumber("Training steps", 1000, 10);
  seq_len_ = rows_->makeChoice("Sequence length", {"64", "128", "256", "512", "1024", "2048"});
  makeAttentionBoxes();
  launch_ = rows_->makeChoice("Launch", {"threads", "processes"});
  launch_->setToolTip("What a rank is");
  dtype_ = rows_->makeChoice("Type", {"float32", "float64", "bfloat16"});
  sinks_ = rows_->makeTick("one a head", "Attention sinks",
                           "A learnt logit a head in every row's softmax");
  run_on_ = rows_->makeText("Run on", "this machine",
                            "A command that runs a command line on another machine, such as: ssh "
                            "gpu-box. Model and text are then paths of that machine");
  rows_->add("Model", {model_});
  rows_->add("Text", {text_button_});
  // Three in a row have no room for more than two digits.
  for (QSpinBox* box : {mesh_.dp, mesh_.tp, mesh_.cp}) {
    box->setButtonSymbols(QAbstractSpinBox::NoButtons);
    box->setObjectName("narrow");
    box->setMinimumWidth(0);
  }
  rows_->add("dp, tp, cp", {mesh_.dp, mesh_.tp, mesh_.cp});
  steps_->setToolTip("Training steps");
  steps_->setButtonSymbols(QAbstractSpinBox::NoButtons);
  steps_->setObjectName("narrow");
  rows_->add("Tokens", {seq_len_, steps_});
  rows_->add("Strategy", {attention_.strategy});
  rows_->add("Balance", {attention_.balance});
  rows_->add("Mask", {attention_.mask});
  attention_.window_label = rows_->add("Window", {attention_.window});
  rows_->add("Type", {dtype_});
  rows_->add("Sinks", {sinks_});
  rows_->add("Kernel", {attention_.kernel});
  rows_->add("Hops", {attention_.p2p});
  rows_->add("Ranks are", {launch_});
  rows_->add("Run on", {run_on_});
  rows_->addWide(estimate_);
  connect(rows_, &SettingsRows::changed, this, &SettingsForm::refresh);
  connect(model_, &QPushButton::clicked, this, &SettingsForm::chooseModel);
  connect(text_button_, &QPushButton::clicked, this, &SettingsForm::chooseText);
  seq_len_->setCurrentText("256");
  setModel("");
  setText({});
}

void SettingsForm::makeAttentionBoxes() {
  attention_.strategy = rows_->makeChoice("Strategy", allNames<traces::Strategy>());
  attention_.balance =
      rows_->makeChoice("Balance", {"head_tail", "none", "striped", "per_document", "ptrr"});
  attention_.mask = rows_->makeChoice("Mask", {"causal", "full", "window", "documents"});
  attention_.window = rows_->makeNumber("Window", 1 << 20, 64);
  attention_.window->setToolTip("Keys seen to the left, the query's own included");
  attention_.kernel = rows_->makeChoice("Kernel", allNames<traces::Kernel>());
  attention_.kernel->setToolTip("The operator that attends a block");
  attention_.p2p = rows_->makeChoice("Hops", allNames<traces::PointToPoint>());
  attention_.p2p->setToolTip(
      "How the send and the receive of a hop are posted: together, or each by itself");
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
  for (QWidget* widget :
       {static_cast<QWidget*>(attention_.window), static_cast<QWidget*>(attention_.window_label)})
    widget->setVisible(attention_.mask->currentText() == "window");
  // There is no room for the word beside three digits.
  const int steps = steps_->value();
  steps_->setSuffix(steps > 99 ? "" : steps > 1 ? " steps" : " step");
  offerAllowed();
  refreshEstimate();
  Q_EMIT changed();
}

void SettingsForm::refreshEstimate() {
  const auto bytes = estimateMemory(shape_, seq_len_->currentText().toInt(), mesh_.tp->value(),
                                    mesh_.cp->value(), dtype_->currentText().toStdString());
  estimate_->setText(
      QString("about %1 a rank, %2 of it sharded")
          .arg(describeBytes(bytes.total()).c_str(), describeBytes(bytes.sharded_bytes).c_str()));
}

RunConfig SettingsForm::config() const {
  RunConfig config = given_;
  config.mistakes.clear();
  config.trace.clear();
  config.run_on = run_on_->text().trimmed();
  config.model_dir = model_path_.toStdString();
  config.text.clear();
  for (const QString& file : text_) config.text.push_back(file.toStdString());
  config.dp = mesh_.dp->value();
  config.tp = mesh_.tp->value();
  config.cp = mesh_.cp->value();
  config.steps = steps_->value();
  config.seq_len = seq_len_->currentText().toLongLong();
  config.strategy = chosen<traces::Strategy>(attention_.strategy);
  config.balance = chosen<traces::Balance>(attention_.balance);
  config.mask = chosen<traces::MaskKind>(attention_.mask);
  config.window = config.mask == traces::MaskKind::kWindow ? attention_.window->value() : 0;
  config.dtype = chosen<traces::DType>(dtype_);
  config.sinks = sinks_->isChecked();
  config.kernel = chosen<traces::Kernel>(attention_.kernel);
  config.p2p = chosen<traces::PointToPoint>(attention_.p2p);
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
  SettingsRows::showNumber(mesh_.dp, config.dp);
  SettingsRows::showNumber(mesh_.tp, config.tp);
  SettingsRows::showNumber(mesh_.cp, config.cp);
  SettingsRows::showNumber(steps_, config.steps);
  SettingsRows::showOption(seq_len_, QString::number(config.seq_len));
  attention_.strategy->setCurrentText(name(config.strategy));
  attention_.balance->setCurrentText(name(traces::chosenBalance(config)));
  attention_.mask->setCurrentText(name(config.mask));
  if (config.window > 0) SettingsRows::showNumber(attention_.window, config.window);
  SettingsRows::showOption(dtype_, name(config.dtype));
  sinks_->setChecked(config.sinks);
  attention_.kernel->setCurrentText(name(config.kernel));
  attention_.p2p->setCurrentText(name(config.p2p));
  launch_->setCurrentText(name(config.launch));
}

/// Greys the choices that the rest of the form rules out, with the sentence that says why. If
/// all choices of a box would be refused, the reason lies elsewhere.
void SettingsForm::offerAllowed() {
  const RunConfig now = config();
  const auto offer = [&](QComboBox* box, auto set) {
    QStringList reasons;
    for (int i = 0; i < box->count(); ++i) {
      RunConfig other = now;
      set(other, box->itemText(i).toStdString());
      reasons << refusal(other, shape_.heads);
    }
    const bool elsewhere =
        std::ranges::none_of(reasons, [](const QString& reason) { return reason.isEmpty(); });
    auto* items = qobject_cast<QStandardItemModel*>(box->model());
    for (int i = 0; i < box->count(); ++i) {
      items->item(i)->setEnabled(elsewhere || reasons[i].isEmpty());
      items->item(i)->setToolTip(elsewhere ? QString() : reasons[i]);
    }
  };
  offer(attention_.balance, [](RunConfig& run, const std::string& text) {
    run.balance = traces::parse<traces::Balance>(text);
  });
  offer(attention_.kernel, [](RunConfig& run, const std::string& text) {
    run.kernel = traces::parse<traces::Kernel>(text);
  });
  offer(attention_.p2p, [](RunConfig& run, const std::string& text) {
    run.p2p = traces::parse<traces::PointToPoint>(text);
  });
}

void SettingsForm::markDifferences(const traces::RunSpec* shown) {
  if (!shown) return rows_->unmarkAll();
  const RunConfig now = config();
  const auto compare_number = [this](QWidget* box, std::int64_t is, std::int64_t was) {
    rows_->mark(box, is == was ? QString() : QString::number(was));
  };
  const auto compare_name = [this](QWidget* box, auto is, auto was) {
    rows_->mark(box, is == was ? QString() : name(was));
  };
  const auto& model = shown->model;
  rows_->mark(model_, now.model_dir == shown->model_dir
                          ? QString()
                          : QString("%1, %2 layers").arg(model.name.c_str()).arg(model.layers));
  rows_->mark(text_button_, describeShownText(now, *shown));
  compare_number(mesh_.dp, now.dp, shown->dp);
  compare_number(mesh_.tp, now.tp, shown->tp);
  compare_number(mesh_.cp, now.cp, shown->cp);
  compare_number(steps_, now.steps, shown->steps);
  compare_number(seq_len_, now.seq_len, shown->seq_len);
  compare_name(attention_.strategy, now.strategy, shown->strategy);
  compare_name(attention_.balance, traces::chosenBalance(now), traces::chosenBalance(*shown));
  compare_name(attention_.mask, now.mask, shown->mask);
  const bool windows = now.mask == shown->mask && now.mask == traces::MaskKind::kWindow;
  compare_number(attention_.window, windows ? now.window : 0, windows ? shown->window : 0);
  compare_name(dtype_, now.dtype, shown->dtype);
  rows_->mark(sinks_, now.sinks == shown->sinks ? "" : shown->sinks ? "sinks" : "no sinks");
  compare_name(attention_.kernel, now.kernel, shown->kernel);
  compare_name(attention_.p2p, now.p2p, shown->p2p);
  compare_name(launch_, now.launch, shown->launch);
  rows_->markRows();
}

}  // namespace ringscope::viz
