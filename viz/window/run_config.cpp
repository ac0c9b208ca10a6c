// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/run_config.h"

#include <QFile>

#include "traces/core/error.h"
#include "traces/core/resources.h"

namespace ringscope::viz {
namespace {

QStringList strings(const nlohmann::json& value) {
  QStringList list;
  for (const auto& item : value) list << QString::fromStdString(item.get<std::string>());
  return list;
}

}  // namespace

QStringList RunConfig::arguments() const {
  QStringList args{"--text"};
  args << (text.isEmpty()
               ? QStringList{QString::fromStdString(traces::resourcePath("sample/text.txt"))}
               : text);
  args << "--cp" << QString::number(cp) << "--steps" << QString::number(steps) << "--seq-len"
       << QString::number(seq_len) << "--balance" << balance << "--mask" << mask << "--dtype"
       << dtype << "--verify";
  for (const QString& mistake : mistakes) args << "--mistake" << mistake;
  if (!trace.isEmpty()) args << "--trace" << trace;
  return args;
}

RunConfig RunConfig::fromJson(const nlohmann::json& json, const std::string& source) {
  RunConfig config;
  if (!json.is_object()) throw inputError(source + " is not a JSON object");
  for (const auto& [key, value] : json.items()) {
    try {
      auto text_of = [&] { return QString::fromStdString(value.get<std::string>()); };
      if (key == "text")
        config.text = strings(value);
      else if (key == "cp")
        config.cp = value.get<int>();
      else if (key == "steps")
        config.steps = value.get<int>();
      else if (key == "seq_len")
        config.seq_len = value.get<int>();
      else if (key == "balance")
        config.balance = text_of();
      else if (key == "mask")
        config.mask = text_of();
      else if (key == "dtype")
        config.dtype = text_of();
      else if (key == "mistakes")
        config.mistakes = strings(value);
      else if (key == "trace")
        config.trace = text_of();
      else
        throw inputError(source + ": there is no setting '" + key + "'");
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

}  // namespace ringscope::viz
