// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <streambuf>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "traces/exchange/import/kineto/plain_event.h"

namespace ringscope::traces {

/// The fields of an event in a Kineto file that tell whether an importer reads it.
struct EventLabel {
  std::string_view phase, category, name;  ///< empty: none, or no text
  bool has_collective = false;             ///< it names a collective
};

/// The text of a Kineto file without the events that nobody reads and without those that
/// PlainEvent reads, which are nearly all. A JSON parser needs much longer for an event than this
/// filter. An event stays if it is longer than 1 MiB, or if it holds anything else than plain JSON
/// in ASCII: the parser judges damage. After text that is no list of events, everything stays.
/// Everything that stays is passed on before the events after it are read.
class EventFilter : public std::streambuf {
 public:
  using IsRead = std::function<bool(const EventLabel& label)>;
  /// Takes a plain event that is read. Returns false when the event must stay in the text.
  using Take = std::function<bool(const PlainEvent& event)>;
  EventFilter(std::istream& in, IsRead is_read, Take take)
      : in_(in), is_read_(std::move(is_read)), take_(std::move(take)) {}

  /// Returns the number of complete events ("ph": "X") that were left out.
  std::uint64_t leftOut() const { return left_out_; }
  /// Returns the place in the file of a byte of the text that was read last.
  std::uint64_t placeInFile(std::uint64_t byte) const;

 protected:
  int_type underflow() override;

 private:
  enum class Part : std::uint8_t { kHead, kEvents, kRest };
  enum class Last : std::uint8_t { kOpening, kComma, kEvent };

  bool fill();
  void pass(std::size_t end);
  bool readPart();
  bool readHead();
  bool readEvents();
  bool readEvent();
  bool takeEvent(std::string_view text);

  std::istream& in_;
  IsRead is_read_;
  Take take_;
  Part part_ = Part::kHead;
  Last last_ = Last::kOpening;
  bool is_starved_ = true;    ///< nothing of raw_ can be decided before more is read
  bool needs_comma_ = false;  ///< an event of the list was passed on
  std::string raw_, out_;     ///< raw_: bytes of the file that are not decided yet
  std::size_t at_ = 0;        ///< the first undecided byte in raw_
  std::uint64_t raw_begin_ = 0, out_begin_ = 0;  ///< places of the first bytes of raw_ and out_
  std::uint64_t left_out_ = 0;
  std::vector<std::pair<std::uint64_t, std::uint64_t>> places_;  ///< in the text and in the file
};

}  // namespace ringscope::traces
