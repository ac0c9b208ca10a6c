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

/// The version of the protocol of the recorder (traces/recorder/FORMAT.md, "Live").
inline constexpr int kLiveVersion = 1;

/// The limits of what one job may send and store.
struct StreamLimits {
  std::size_t line_bytes = 8'000'000;
  std::uint64_t lines_bytes = std::uint64_t{1} << 30;   ///< bytes of lines per rank, as in the
                                                        ///< importer
  std::uint64_t values_bytes = std::uint64_t{4} << 30;  ///< bytes of values per rank
};

/// The first line of a connection.
struct Hello {
  WorldRank rank;
  int world_size = 1;
  std::string token;
  bool takes_pauses = false;

  /// Parses the line. Throws inputError that says what is wrong with it.
  static Hello parse(std::string_view line);
};

/// The data of one rank after its hello: lines and values, which become the rank's files in a
/// recording's folder, and the rank's current position. The data is untrusted: malformed input ends
/// the stream.
class RankStream {
 public:
  /// Opens the rank's files. `folder` must exist and have no file of this rank. Throws inputError.
  RankStream(const Hello& hello, std::string folder, const StreamLimits& limits = {});

  /// Handles bytes as they arrive, split anywhere. Throws inputError with a message. The stream
  /// cannot be used afterwards, and earlier data stays in the files.
  void feed(std::string_view bytes);

  WorldRank rank() const { return rank_; }
  const Standing& standing() const { return standing_; }
  std::uint64_t lines() const { return lines_; }
  /// Returns the last training step that has ended, with all its lines and values; −1: none.
  std::int64_t border() const { return border_; }
  /// Reports whether the recording's last line has come.
  bool ended() const { return ended_; }

  /// A message of the rank about a pause.
  struct PauseWord {
    bool stands = false;  ///< true: held at the border; false: waiting in this step
    std::int64_t step = 0;
  };
  std::vector<PauseWord> takePauseWords();
  /// Reports whether the rank is held at a border.
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
  std::string begun_;  ///< start of a line whose end has not come
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
