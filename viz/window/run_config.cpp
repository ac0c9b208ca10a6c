// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/run_config.h"

#include <algorithm>

#include "traces/analysis/mistakes/catalogue.h"
#include "traces/analysis/mistakes/needs/asked_mistake.h"
#include "traces/analysis/mistakes/run_with_mistakes.h"
#include "traces/exchange/remote/remote_address.h"
#include "traces/format/core/error.h"
#include "traces/format/core/json.h"
#include "traces/format/core/resources.h"
#include "traces/plan/run_rules.h"

namespace ringscope::viz {
namespace {

/// A setting of the window: its key in a configuration file, its field of RunSpec ("mistakes" and
/// "trace" are RunConfig's own) and its option of `ringscope train`.
struct Setting {
  const char *key, *field, *option;
};
constexpr std::string_view kTextField = "text";
constexpr Setting kSettings[] = {
    {"model", "model_dir", "--model"},
    {"text", "text", "--text"},
    {"tokens", "tokens", "--tokens"},
    {"tokenizer", "tokenizer", "--tokenizer"},
    {"dp", "dp", "--dp"},
    {"tp", "tp", "--tp"},
    {"cp", "cp", "--cp"},
    {"steps", "steps", "--steps"},
    {"seq_len", "seq_len", "--seq-len"},
    {"batch", "batch", "--batch"},
    {"strategy", "strategy", "--strategy"},
    {"ulysses", "ulysses", "--ulysses"},
    {"rotate", "rotate", "--rotate"},
    {"order", "order", "--order"},
    {"fp8", "fp8", "--fp8"},
    {"kernel", "kernel", "--kernel"},
    {"p2p", "p2p", "--p2p"},
    {"balance", "balance", "--balance"},
    {"mask", "mask", "--mask"},
    {"window", "window", "--window"},
    {"separator", "separator", "--separator"},
    {"dtype", "dtype", "--dtype"},
    {"sinks", "sinks", "--sinks"},
    {"recompute", "recompute", "--recompute"},
    {"seed", "seed", "--seed"},
    {"lr", "lr", "--lr"},
    {"weight_decay", "weight_decay", "--weight-decay"},
    {"max_norm", "max_norm", "--max-norm"},
    {"launch", "launch", "--launch"},
    {"device", "device", "--device"},
    {"transport", "transport", "--transport"},
    {"capture", "capture", "--capture"},
    {"mistakes", "mistakes", "--mistake"},
    {"trace", "trace", "--trace"},
};

nlohmann::json listOf(const QStringList& items) {
  nlohmann::json list = nlohmann::json::array();
  for (const QString& item : items) list.push_back(item.toStdString());
  return list;
}

/// All settings by the names of their fields.
nlohmann::json fieldsOf(const RunConfig& config) {
  nlohmann::json fields = traces::toJson(static_cast<const traces::RunSpec&>(config));
  fields["mistakes"] = listOf(config.mistakes);
  fields["trace"] = config.trace.toStdString();
  return fields;
}

QString asText(const nlohmann::json& value) {
  if (value.is_null()) return {};
  if (value.is_string()) return QString::fromStdString(value.get<std::string>());
  if (!value.is_array()) return QString::fromStdString(value.dump());
  QStringList items;
  for (const auto& item : value) items << asText(item);
  return items.join(", ");
}

/// Whether the setting says nothing beside the others.
bool isUnused(const Setting& setting, const nlohmann::json& fields) {
  const std::string key = setting.key;
  if (key == "window") return fields["mask"] != traces::name(traces::MaskKind::kWindow);
  if (key == "separator") return fields["mask"] != traces::name(traces::MaskKind::kDocuments);
  if (key == "ulysses") return fields["ulysses"] == 0;
  return fields[setting.field] == false || asText(fields[setting.field]).isEmpty();
}

/// Throws inputError where the catalogue has no such mistake.
QString checkedMistake(const std::string& asked, const std::string& source) {
  if (traces::findMistake(traces::AskedMistake::parse(asked).id))
    return QString::fromStdString(asked);
  throw inputError(source + ": '" + asked + "' is no mistake of the catalogue");
}

/// Sets what is not part of a RunSpec.
void assignOwn(RunConfig& config, const std::string& key, const nlohmann::json& value,
               const std::string& source) {
  if (key == "trace") {
    std::string path;
    traces::fromJson(value, path, source, key);
    config.trace = QString::fromStdString(path);
  } else {
    std::vector<std::string> ids;
    traces::fromJson(value, ids, source, key);
    config.mistakes.clear();
    for (const std::string& asked : ids) config.mistakes << checkedMistake(asked, source);
  }
}

std::vector<traces::AskedMistake> parsed(const QStringList& mistakes) {
  std::vector<traces::AskedMistake> asked;
  for (const QString& mistake : mistakes)
    asked.push_back(traces::AskedMistake::parse(mistake.toStdString()));
  return asked;
}

/// Some mistakes leave ranks other rows than those that verification compares.
bool canBeVerified(const QStringList& mistakes) {
  return std::ranges::none_of(parsed(mistakes), [](const traces::AskedMistake& asked) {
    const auto* mistake = traces::findMistake(asked.id);
    return mistake && std::ranges::count(mistake->needs, &traces::needs::kNoVerify) > 0;
  });
}

}  // namespace

traces::RunSpec RunConfig::spec() const {
  traces::RunSpec run = *this;
  run.batch = std::max<std::int64_t>(batch, dp);
  run.verify = canBeVerified(mistakes + sealed);
  const auto between_processes =
      device == traces::Device::kCuda ? traces::TransportKind::kNccl : traces::TransportKind::kGloo;
  run.transport =
      launch == traces::Launch::kThreads ? traces::TransportKind::kLocal : between_processes;
  if (mask == traces::MaskKind::kDocuments && separator.empty()) run.separator = "\n\n";
  if (text.empty() && tokens.empty()) run.text = {traces::resourcePath("sample/text.txt")};
  return run;
}

QStringList RunConfig::arguments() const {
  RunConfig whole = *this;
  static_cast<traces::RunSpec&>(whole) = spec();
  const nlohmann::json fields = fieldsOf(whole);
  QStringList args;
  const bool remote_sample = !run_on.isEmpty() && text.empty() && tokens.empty();
  if (remote_sample) args << "--sample-text";
  for (const Setting& setting : kSettings) {
    if (isUnused(setting, fields) || (remote_sample && setting.field == kTextField)) continue;
    const nlohmann::json& value = fields[setting.field];
    if (value.is_boolean())
      args << setting.option;
    else if (value.is_array())
      for (const auto& item : value) args << setting.option << asText(item);
    else
      args << setting.option << asText(value);
  }
  if (launch != traces::Launch::kThreads)
    for (const QString& mistake : sealed)
      if (!mistakes.contains(mistake)) args << "--mistake" << mistake;
  if (whole.verify) args << "--verify";
  return args;
}

QStringList RunConfig::hiddenMistakes() const {
  QStringList hidden;
  for (const QString& mistake : sealed)
    if (launch == traces::Launch::kThreads && !mistakes.contains(mistake)) hidden << mistake;
  return hidden;
}

RunConfig RunConfig::fromJson(const nlohmann::json& json, const std::string& source) {
  RunConfig config;
  if (!json.is_object()) throw inputError(source + " is not a JSON object");
  for (const auto& [key, value] : json.items()) {
    const auto* setting = std::find_if(std::begin(kSettings), std::end(kSettings),
                                       [&, k = key](const Setting& s) { return k == s.key; });
    if (setting == std::end(kSettings)) throw traces::unknownSetting(source, key);
    if (key == "mistakes" || key == "trace")
      assignOwn(config, key, value, source);
    else
      traces::fromJson({{setting->field, value}}, static_cast<traces::RunSpec&>(config), source);
  }
  return config;
}

RunConfig RunConfig::load(const QString& path) {
  const std::string name = path.toStdString();
  return fromJson(traces::readJson(name), name);
}

QString refusal(const RunConfig& config, std::int64_t query_heads) {
  traces::RunSpec run;
  try {
    if (!config.run_on.isEmpty()) traces::parseShell(config.run_on.toStdString());
  } catch (const Error& error) {
    return QString("Run on: ") + error.what();
  }
  try {
    run = config.spec();
  } catch (
      const Error& error) {  // an installation without the sample text can still open recordings
    return QString("choose a text: ") + error.what();
  }
  run.model.heads = query_heads;
  return QString::fromStdString(traces::refusal(run, parsed(config.mistakes)).value_or(""));
}

QString reasonAgainst(const QString& mistake, RunConfig config) {
  config.mistakes << mistake;
  try {
    const auto asked = traces::AskedMistake::parse(mistake.toStdString());
    return QString::fromStdString(traces::reasonAgainst(config.spec(), asked).value_or(""));
  } catch (const Error&) {  // there is no text: then no run is offered
    return {};
  }
}

QString changes(const RunConfig& before, const RunConfig& after) {
  const nlohmann::json was = fieldsOf(before), is = fieldsOf(after);
  QStringList words;
  for (const Setting& setting : kSettings) {
    const QString key = setting.key;
    if (was[setting.field] == is[setting.field] || key == "steps" || key == "trace" ||
        key == "capture")
      continue;
    const QString from = asText(was[setting.field]), to = asText(is[setting.field]);
    const bool sample = key == "text" && before.tokens.empty() && after.tokens.empty();
    const QString none = sample ? "the sample text" : "none";
    words
        << QString("%1: %2 → %3").arg(key, from.isEmpty() ? none : from, to.isEmpty() ? none : to);
  }
  if (before.sealed != after.sealed)
    words << (after.sealed.isEmpty() ? "without what was injected" : "with what was injected");
  return words.join(" · ");
}

}  // namespace ringscope::viz
