// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "traces/exchange/live/new_file.h"
#include "traces/exchange/waits/standing.h"

namespace ringscope::traces {

/// Version of what the recorder sends (traces/recorder/FORMAT.md, "Live").
inline constexpr int kLiveVersion = 1;

/// What one job may send and fill a disk with.
struct StreamLimits {
  std::size_t line_bytes = 8'000'000;
  std::uint64_t lines_bytes = std::uint64_t{1} << 30;   ///< of a rank, as the importer reads
  std::uint64_t values_bytes = std::uint64_t{4} << 30;  ///< of a rank
};

/// The first line of a connection.
struct Hello {
  WorldRank rank;
  int world_size = 1;
  std::string token;
  bool takes_pauses = false;

  /// Throws inputError that says what is wrong with it.
  static Hello parse(std::string_view line);
};

/// What a rank sends after its hello: lines and values, which become its files in a recording's
/// folder, and where it stands. It is a stranger's: what is not well-formed ends it.
class RankStream {
 public:
  /// `folder` is there and has no file of this rank. Throws inputError.
  RankStream(const Hello& hello, std::string folder, const StreamLimits& limits = {});

  /// Takes in bytes as they come, cut anywhere. Throws inputError with a sentence; the stream is
  /// then of no further use, and what came before stays in the files.
  void feed(std::string_view bytes);

  WorldRank rank() const { return rank_; }
  const Standing& standing() const { return standing_; }
  std::uint64_t lines() const { return lines_; }
  /// The last training step that has ended, with all its lines and values; −1: none.
  std::int64_t border() const { return border_; }
  /// Whether the recording's last line has come.
  bool ended() const { return ended_; }

  /// What it said about a pause.
  struct PauseWord {
    bool stands = false;  ///< at the border; else: it holds in this step
    std::int64_t step = 0;
  };
  std::vector<PauseWord> takePauseWords();
  /// Whether it stands at a border, held.
  bool isHeld() const { return held_; }

 private:
  std::string_view takeValues(std::string_view bytes);
  void line(std::string_view text);
  bool isOfTheStream(const Line& line);
  void beginValues(const Line& line);
  void keep(std::string_view text, const Line& line);
  std::string stem() const;

  WorldRank rank_;
  int world_size_;
  std::string folder_;
  StreamLimits limits_;
  std::string begun_;  ///< of a line whose end has not come
  NewFile file_, values_;
  std::string values_name_;
  std::uint64_t values_left_ = 0;
  int values_files_ = 0;
  std::uint64_t lines_ = 0;
  std::int64_t border_ = -1;
  bool ended_ = false, held_ = false;
  Standing standing_;
  std::vector<PauseWord> pause_words_;
};

}  // namespace ringscope::traces
