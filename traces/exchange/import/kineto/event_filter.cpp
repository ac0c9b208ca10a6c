// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/kineto/event_filter.h"

#include <algorithm>
#include <array>

namespace ringscope::traces {
namespace {

constexpr std::size_t kBlock = 1 << 20;
constexpr std::size_t kMostEvent = 1 << 20;
constexpr std::string_view kList = "\"traceEvents\"", kSpace = " \t\r\n";

/// Returns which bytes occur outside of texts in an event of plain JSON.
constexpr std::array<bool, 256> bytesOutsideOfTexts() {
  std::array<bool, 256> plain{};
  for (const char c : std::string_view("{}[]:,\"0123456789+-.eEtrufalsn \t\r\n"))
    plain[static_cast<unsigned char>(c)] = true;
  return plain;
}

/// A reader of one event's text, from its opening brace to the closing one.
class EventText {
 public:
  explicit EventText(std::string_view text) : text_(text) {}

  /// Reads to the end of the event. Returns false when the text ends before.
  bool read() {
    static constexpr std::array<bool, 256> kPlain = bytesOutsideOfTexts();
    for (; at_ < text_.size(); ++at_) {
      const char c = text_[at_];
      is_plain_ = is_plain_ && kPlain[static_cast<unsigned char>(c)];
      if (c == '"') {
        if (!readText()) return false;
      } else if (c == '{' || c == '[') {
        expects_key_ = ++depth_ == 1;
      } else if (c == ',') {
        expects_key_ = depth_ == 1;
      } else if ((c == '}' || c == ']') && --depth_ == 0) {
        ++at_;
        return true;
      }
    }
    return false;
  }

  bool isPlain() const { return is_plain_; }
  const EventLabel& label() const { return label_; }
  std::size_t size() const { return at_; }

 private:
  bool readText() {
    const std::size_t begin = at_ + 1;
    bool escaped = false;
    for (++at_; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      is_plain_ = is_plain_ && text_[at_] >= ' ' && text_[at_] <= '~';
      if (text_[at_] != '\\') continue;
      escaped = true;
      ++at_;
    }
    if (at_ >= text_.size()) return false;
    take(text_.substr(begin, at_ - begin), escaped);
    return true;
  }

  void take(std::string_view text, bool escaped) {
    if (depth_ == 2) label_.has_collective |= text == "Collective name";
    if (depth_ != 1) return;
    if (expects_key_) {
      key_ = text;
      expects_key_ = false;
      is_plain_ = is_plain_ && !escaped;
      return;
    }
    std::string_view* field = key_ == "ph"     ? &label_.phase
                              : key_ == "cat"  ? &label_.category
                              : key_ == "name" ? &label_.name
                                               : nullptr;
    if (!field) return;
    *field = text;
    is_plain_ = is_plain_ && !escaped;
  }

  std::string_view text_, key_;
  std::size_t at_ = 0;
  int depth_ = 0;
  bool is_plain_ = true, expects_key_ = false;
  EventLabel label_;
};

}  // namespace

std::uint64_t EventFilter::placeInFile(std::uint64_t byte) const {
  const auto after =
      std::ranges::upper_bound(places_, byte, {}, [](const auto& p) { return p.first; });
  if (after == places_.begin()) return byte;
  const auto& [in_text, in_file] = *(after - 1);
  return in_file + (byte - in_text);
}

EventFilter::int_type EventFilter::underflow() {
  out_begin_ += out_.size();
  out_.clear();
  if (!places_.empty()) places_.erase(places_.begin(), places_.end() - 1);
  while (out_.empty()) {
    if (!is_starved_ || fill()) {
      is_starved_ = readPart();
      continue;
    }
    if (part_ == Part::kEvents && last_ == Last::kComma && needs_comma_) out_ += ',';
    part_ = Part::kRest;
    pass(raw_.size());
    if (!out_.empty()) break;
    places_.emplace_back(out_begin_, raw_begin_ + at_);
    return traits_type::eof();
  }
  setg(out_.data(), out_.data(), out_.data() + out_.size());
  return traits_type::to_int_type(out_.front());
}

/// Reads a block of the file. Returns false at its end.
bool EventFilter::fill() {
  raw_begin_ += at_;
  raw_.erase(0, at_);
  at_ = 0;
  const std::size_t size = raw_.size();
  raw_.resize(size + kBlock);
  in_.read(raw_.data() + size, static_cast<std::streamsize>(kBlock));
  raw_.resize(size + static_cast<std::size_t>(in_.gcount()));
  return raw_.size() > size;
}

/// Passes on the bytes up to `end`.
void EventFilter::pass(std::size_t end) {
  if (end <= at_) return;
  places_.emplace_back(out_begin_ + out_.size(), raw_begin_ + at_);
  out_.append(raw_, at_, end - at_);
  at_ = end;
}

/// Reads on until text must be passed on. Returns true when more of the file is needed first.
bool EventFilter::readPart() {
  if (part_ == Part::kHead) return readHead();
  if (part_ == Part::kEvents) return readEvents();
  pass(raw_.size());
  return true;
}

/// Passes on the text up to the opening bracket of the list of events, as far as it was read.
bool EventFilter::readHead() {
  const std::size_t list = raw_.find(kList, at_);
  if (list == std::string::npos) {
    pass(raw_.size() - std::min(raw_.size() - at_, kList.size()));
    return true;
  }
  const std::size_t colon = raw_.find_first_not_of(kSpace, list + kList.size());
  const std::size_t opening =
      colon == std::string::npos ? colon : raw_.find_first_not_of(kSpace, colon + 1);
  if (opening == std::string::npos) {
    if (raw_.size() - list > kMostEvent) part_ = Part::kRest;
    return part_ == Part::kHead;
  }
  pass(opening + 1);
  part_ = raw_[colon] == ':' && raw_[opening] == '[' ? Part::kEvents : Part::kRest;
  return false;
}

bool EventFilter::readEvents() {
  while (part_ == Part::kEvents && out_.empty()) {
    const std::size_t next = raw_.find_first_not_of(kSpace, at_);
    if (next == std::string::npos) {
      at_ = raw_.size();
      return true;
    }
    at_ = next;
    if (raw_[at_] == ',' && last_ == Last::kEvent) {
      last_ = Last::kComma;
      ++at_;
    } else if (raw_[at_] == '{' && last_ != Last::kEvent) {
      if (!readEvent()) return true;
    } else {
      // The parser reports a comma before the end of the list, and events without a comma.
      if (last_ == Last::kComma && (needs_comma_ || raw_[at_] == ']')) out_ += ',';
      if (last_ == Last::kEvent && !needs_comma_ && raw_[at_] != ']') out_ += "{}";
      part_ = Part::kRest;
    }
  }
  return false;
}

/// Passes on one event or leaves it out. Returns false when more of the file is needed first.
bool EventFilter::readEvent() {
  const std::string_view text = std::string_view(raw_).substr(at_);
  if (takeEvent(text)) return true;
  EventText event(text);
  if (!event.read()) {
    if (text.size() <= kMostEvent) return false;
    if (needs_comma_) out_ += ',';
    part_ = Part::kRest;
    return true;
  }
  last_ = Last::kEvent;
  if (event.isPlain() && !is_read_(event.label())) {
    left_out_ += event.label().phase == "X";
    at_ += event.size();
    return true;
  }
  if (needs_comma_) out_ += ',';
  needs_comma_ = true;
  pass(at_ + event.size());
  return true;
}

/// Takes or leaves out a plain event at the begin of a text. Returns false for other text.
bool EventFilter::takeEvent(std::string_view text) {
  PlainEvent plain(text);
  if (!plain.read()) return false;
  const KinetoEvent& event = plain.event();
  const bool has_collective = event.has(KinetoArgument::kCollectiveName);
  if (!is_read_({plain.phase(), event.category, event.name, has_collective}))
    left_out_ += plain.phase() == "X";
  else if (!take_(plain))
    return false;
  last_ = Last::kEvent;
  at_ += plain.size();
  return true;
}

}  // namespace ringscope::traces
