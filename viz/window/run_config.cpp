// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/run_config.h"

#include <QFile>
#include <variant>

#include "traces/core/error.h"
#include "traces/core/resources.h"

namespace ringscope::viz {
namespace {

/// One setting: its key in JSON, its option on the command line, and where it lies.
struct Setting {
  const char* key;
  const char* option;
  std::variant<int RunConfig::*, QString RunConfig::*, QStringList RunConfig::*> field;
};

const Setting kSettings[] = {
    {"model", "--model", &RunConfig::model},
    {"text", "--text", &RunConfig::text},
    {"dp", "--dp", &RunConfig::dp},
    {"tp", "--tp", &RunConfig::tp},
    {"cp", "--cp", &RunConfig::cp},
    {"steps", "--steps", &RunConfig::steps},
    {"seq_len", "--seq-len", &RunConfig::seq_len},
    {"strategy", "--strategy", &RunConfig::strategy},
    {"balance", "--balance", &RunConfig::balance},
    {"mask", "--mask", &RunConfig::mask},
    {"window", "--window", &RunConfig::window},
    {"dtype", "--dtype", &RunConfig::dtype},
    {"launch", "--launch", &RunConfig::launch},
    {"capture", "--capture", &RunConfig::capture},
    {"mistakes", "--mistake", &RunConfig::mistakes},
    {"trace", "--trace", &RunConfig::trace},
};

QString textOf(const RunConfig& config, const Setting& setting) {
  return std::visit(
      [&](auto field) -> QString {
        const auto& value = config.*field;
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, int>)
          return QString::number(value);
        else if constexpr (std::is_same_v<Value, QStringList>)
          return value.join(", ");
        else
          return value;
      },
      setting.field);
}

void addArguments(QStringList& args, const RunConfig& config, const Setting& setting) {
  if (const auto* list = std::get_if<QStringList RunConfig::*>(&setting.field)) {
    for (const QString& item : config.**list) args << setting.option << item;
    return;
  }
  const QString text = textOf(config, setting);
  const bool unused = std::string(setting.key) == "window" && config.mask != "window";
  if (!text.isEmpty() && !unused) args << setting.option << text;
}

void assign(RunConfig& config, const Setting& setting, const nlohmann::json& json) {
  std::visit(
      [&](auto field) {
        auto& value = config.*field;
        using Value = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<Value, int>) {
          value = json.get<int>();
        } else if constexpr (std::is_same_v<Value, QStringList>) {
          value.clear();
          for (const auto& item : json) value << QString::fromStdString(item.get<std::string>());
        } else {
          value = QString::fromStdString(json.get<std::string>());
        }
      },
      setting.field);
}

}  // namespace

QStringList RunConfig::arguments() const {
  RunConfig config = *this;
  if (text.isEmpty())
    config.text = {QString::fromStdString(traces::resourcePath("sample/text.txt"))};
  QStringList args;
  for (const Setting& setting : kSettings) addArguments(args, config, setting);
  args << "--batch" << QString::number(dp);
  if (mask == "documents")
    args << "--separator"
         << "\n\n";
  return args << "--verify";
}

RunConfig RunConfig::fromJson(const nlohmann::json& json, const std::string& source) {
  RunConfig config;
  if (!json.is_object()) throw inputError(source + " is not a JSON object");
  for (const auto& [key, value] : json.items()) {
    const auto* setting = std::find_if(std::begin(kSettings), std::end(kSettings),
                                       [&, k = key](const Setting& s) { return k == s.key; });
    if (setting == std::end(kSettings))
      throw inputError(source + ": there is no setting '" + key + "'");
    try {
      assign(config, *setting, value);
    } catch (const nlohmann::json::exception&) {
      throw inputError(source + ": '" + key + "' has the wrong type");
    }
  }
  return config;
}

RunConfig RunConfig::load(const QString& path) {
  QFile file(path);
  if (!file.open(QIODevice::ReadOnly)) throw inputError(path.toStdString() + ": no such file");
  const QByteArray bytes = file.readAll();
  return fromJson(nlohmann::json::parse(bytes.begin(), bytes.end(), nullptr, false),
                  path.toStdString());
}

QString refusal(const RunConfig& config, int query_heads) {
  if (config.balance != "none" && config.mask == "full")
    return config.balance + " evens out causal work; with a full mask choose balance none";
  if (query_heads % config.tp != 0)
    return QString("%1 query heads do not divide among tp = %2 ranks")
        .arg(query_heads)
        .arg(config.tp);
  const int heads = query_heads / config.tp;
  if (config.strategy == "ulysses" && heads % config.cp != 0)
    return QString("%1 query heads do not divide among %2 Ulysses ranks; choose hybrid or ring")
        .arg(heads)
        .arg(config.cp);
  if (const int ranks = config.dp * config.tp * config.cp; ranks > 64)
    return QString("dp × tp × cp = %1 ranks; one machine takes 64 at most").arg(ranks);
  const int chunks = config.balance == "head_tail" ? 2 * config.cp : config.cp;
  if (config.seq_len % chunks != 0)
    return QString("%1 tokens do not divide into %2 equal parts").arg(config.seq_len).arg(chunks);
  return {};
}

QString changes(const RunConfig& before, const RunConfig& after) {
  QStringList words;
  for (const Setting& setting : kSettings) {
    const QString key = setting.key, was = textOf(before, setting), is = textOf(after, setting);
    if (was == is || key == "steps" || key == "trace" || key == "capture") continue;
    words << QString("%1: %2 → %3")
                 .arg(key, was.isEmpty() ? "none" : was, is.isEmpty() ? "none" : is);
  }
  return words.join(" · ");
}

}  // namespace ringscope::viz
