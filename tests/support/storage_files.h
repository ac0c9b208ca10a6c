// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <fstream>
#include <memory>
#include <string>

#include "tests/support/place_at.h"
#include "tests/support/tensor_named.h"
#include "traces/format/recording/recorder.h"
#include "traces/format/storage/sqlite_sink.h"

namespace ringscope::test {

/// Changes a database without its reader's knowledge.
inline void execute(const std::string& path, const std::string& sql) {
  sqlite3* db = nullptr;
  ASSERT_EQ(sqlite3_open(path.c_str(), &db), SQLITE_OK);
  EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK)
      << sqlite3_errmsg(db);
  sqlite3_close(db);
}

inline traces::Event stageEvent(int i) {
  traces::Event e;
  e.place = placeAt(i / 4, 0, traces::Direction::kForward, i % 4);
  e.begin_ns = i;
  e.end_ns = i + 1;
  return e;
}

/// Returns a recorder into a file, with some records of every kind.
inline std::unique_ptr<traces::Recorder> record(const std::string& path, int events) {
  std::vector<std::unique_ptr<traces::ChunkSink>> sinks;
  auto file = std::make_unique<traces::SqliteSink>(path);
  file->seal(R"({"mistakes": ["naive_sum_merge"]})");
  sinks.push_back(std::move(file));
  auto recorder = std::make_unique<traces::Recorder>(1, std::move(sinks));
  traces::RunSpec run;
  run.cp = 1;
  recorder->record(run);
  for (int i = 0; i < events; ++i) {
    recorder->event(stageEvent(i));
    if (i % 100 == 0) recorder->flush();
  }
  const float values[] = {1, 2, 3};
  recorder->tensor(tensorNamed("q", {3}),
                   traces::Bytes(reinterpret_cast<const std::uint8_t*>(values),
                                 reinterpret_cast<const std::uint8_t*>(values + 3)));
  return recorder;
}

}  // namespace ringscope::test
