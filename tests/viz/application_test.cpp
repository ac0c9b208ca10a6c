// SPDX-License-Identifier: GPL-3.0-or-later
#include "viz/window/application.h"

#include <gtest/gtest.h>

#include <QEvent>
#include <QStringList>
#include <new>
#include <nlohmann/json.hpp>

#include "traces/format/core/error.h"

namespace ringscope::viz {
namespace {

/// An object that throws at every event, by a given function.
class Thrower : public QObject {
 public:
  explicit Thrower(std::function<void()> thrower) : throw_(std::move(thrower)) {}
  bool event(QEvent*) override {
    throw_();
    return true;
  }

 private:
  std::function<void()> throw_;
};

TEST(ApplicationTest, EveryExceptionOfAnEventIsASentenceAndTheWindowGoesOn) {
  auto* app = dynamic_cast<Application*>(QCoreApplication::instance());
  ASSERT_NE(app, nullptr);
  QStringList said;
  app->show_problem = [&](const QString& problem) { said << problem; };
  const auto throwing = [&](std::function<void()> thrower) {
    Thrower receiver(std::move(thrower));
    QEvent event(QEvent::User);
    QCoreApplication::sendEvent(&receiver, &event);
    QCoreApplication::sendEvent(&receiver, &event);
  };
  throwing([] { throw inputError("the file is broken"); });
  throwing([] { throw std::bad_alloc(); });
  throwing([] { nlohmann::json::parse("{").at("x"); });
  throwing([] { throw 7; });  // NOLINT: any type can be thrown
  app->show_problem = {};
  ASSERT_EQ(said.size(), 4) << "each is said once, however often it is thrown";
  EXPECT_EQ(said[0], "the file is broken");
  EXPECT_EQ(said[1], "there is not enough memory for this");
  EXPECT_TRUE(said[2].startsWith("this cannot be shown: [json.exception"));
  EXPECT_EQ(said[3], "this cannot be shown");
}

}  // namespace
}  // namespace ringscope::viz
