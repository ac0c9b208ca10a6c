// SPDX-License-Identifier: GPL-3.0-or-later
#pragma once

#include <QObject>
#include <QString>
#include <any>
#include <functional>
#include <map>
#include <stop_token>
#include <thread>

namespace ringscope::viz {

/// Work off the window's thread. Its results come back on the thread of this object as finished
/// values; of each kind of work only the newest request's result is used. The destructor cancels
/// what is under way and waits for it.
class Background : public QObject {
  Q_OBJECT
 public:
  using QObject::QObject;
  ~Background() override;

  /// Runs `make(std::stop_token)` on a thread and hands its value to `use(const Value&)` here. An
  /// older request of this kind is cancelled: its token says so, and its value is dropped. When
  /// `make` throws, `use` is not called and failed() says why.
  template <typename Make, typename Use>
  void request(const QString& kind, Make make, Use use) {
    using Value = std::invoke_result_t<Make, std::stop_token>;
    start(
        kind, [make](std::stop_token stop) { return std::any(make(stop)); },
        [use](const std::any& value) { use(std::any_cast<const Value&>(value)); });
  }
  /// Drops the result of what is under way of this kind.
  void cancel(const QString& kind);
  bool busy() const { return !newest_.empty(); }

 Q_SIGNALS:
  void failed(const QString& kind, const QString& problem);

 private:
  using Make = std::function<std::any(std::stop_token)>;
  using Use = std::function<void(const std::any&)>;
  void start(const QString& kind, Make make, Use use);
  struct Made {
    std::any value;
    QString problem;  ///< why there is no value; empty: there is one
  };
  static Made made(const Make& make, std::stop_token stop);
  void finish(const QString& kind, int id, const Use& use, const Made& made);

  std::map<int, std::jthread> threads_;  // by request, until their value has come
  std::map<QString, int> newest_;        // request of each kind whose value is awaited
  int next_id_ = 0;
};

}  // namespace ringscope::viz
