// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/import/kineto/event_reader.h"

#include <algorithm>
#include <fstream>

#include "traces/exchange/import/kineto/cleaned_json.h"
#include "traces/exchange/import/kineto/part_builder.h"
#include "traces/format/core/error.h"
#include "traces/format/core/inflate.h"
#include "traces/format/core/utf8.h"

namespace ringscope::traces {
namespace {

constexpr int kFirstByteOfGzip = 0x1f;

/// The handler of nlohmann's parser for one file.
class KinetoHandler {
 public:
  using Take = std::function<void(const KinetoEvent&)>;
  explicit KinetoHandler(const Take& take) : take_(take) {}
  /// The filter tells the places of damage.
  void setFilter(const EventFilter& filter) { filter_ = &filter; }

  // NOLINTBEGIN(readability-identifier-naming): the names by which nlohmann's parser calls them.
  bool null() { return value(nullptr, "null"); }
  bool boolean(bool v) { return value(v, ""); }
  bool number_integer(std::int64_t v) { return value(v, std::to_string(v)); }
  bool number_unsigned(std::uint64_t v) { return value(v, std::to_string(v)); }
  bool number_float(double v, const std::string& text) { return value(v, text); }
  bool string(std::string& v) { return value(v, v); }
  bool binary(nlohmann::json::binary_t& /*v*/) { return true; }
  bool start_object(std::size_t /*size*/) { return open(false); }
  bool key(std::string& name) {
    key_ = name;
    if (part_) part_->key(name);
    return true;
  }
  bool end_object() { return close(); }
  bool start_array(std::size_t /*size*/) { return open(true); }
  bool end_array() { return close(); }
  bool parse_error(std::size_t position, const std::string& /*token*/,
                   const nlohmann::json::exception& /*why*/) {
    head.damage = "it is cut or no JSON at byte " + std::to_string(filter_->placeInFile(position));
    return false;
  }
  // NOLINTEND(readability-identifier-naming)

  /// Takes an event that the filter read. Returns false when the parser must read it.
  bool takePlain(const PlainEvent& plain) {
    if (!in_events_ || depth_ != 2) return false;
    if (plain.phase() != "X") return true;
    ++head.events;
    if (plain.hasWrongTime())
      ++head.left_out;
    else
      take_(plain.event());
    return true;
  }

  KinetoHead head;

 private:
  /// Reports the position of a value. The file is an object (depth 1), traceEvents is a list (2) of
  /// objects (3), and their arguments are an object (4).
  bool inEvent() const { return in_events_ && depth_ == 3; }
  bool inHead() const { return depth_ == 1; }

  bool open(bool is_list) {
    constexpr int kMostDepth = 64;
    if (++depth_ > kMostDepth) {
      head.damage = "it is nested more than " + std::to_string(kMostDepth) + " levels deep";
      return false;
    }
    if (part_) {
      part_->open(is_list);
    } else if (depth_ == 1 && is_list) {
      head.damage = "it is a list, and no object with traceEvents";
      return false;
    } else if (depth_ == 2 && is_list && key_ == "traceEvents") {
      in_events_ = true;
    } else if (depth_ == 2 && !is_list && key_ == "distributedInfo") {
      part_.emplace(PartBuilder::All{});
    } else if (inEvent() && !is_list) {
      event_ = KinetoEvent();
      phase_.clear();
      name_.clear();
      category_.clear();
      for (std::string& argument : arguments_) argument.clear();
      wrong_ = false;
      duration_ns_ = 0;
    } else if (in_events_ && depth_ == 4 && !is_list && key_ == "args") {
      part_.emplace(PartBuilder::Arguments{});
    }
    return true;
  }

  bool close() {
    if (part_ && part_->close()) {
      if (in_events_)
        keepArguments(part_->take());
      else
        head.distributed = part_->take();
      part_.reset();
    } else if (!part_ && inEvent()) {
      finishEvent();
    } else if (in_events_ && depth_ == 2) {
      in_events_ = false;
    }
    --depth_;
    return true;
  }

  bool value(nlohmann::json json, const std::string& text) {
    if (part_)
      part_->value(std::move(json));
    else if (inEvent())
      readField(json, text);
    else if (inHead())
      readHead(json);
    return true;
  }

  void keepArguments(const nlohmann::json& args) {
    for (const auto& [name, value] : args.items())
      if (const auto argument = kinetoArgument(name))
        arguments_[static_cast<std::size_t>(*argument)] = value.dump();
  }

  void readHead(const nlohmann::json& json) {
    if (key_ == "baseTimeNanoseconds" && json.is_number_unsigned() &&
        json.get<std::uint64_t>() <= kMostKinetoNs)
      head.base_ns = json.get<std::int64_t>();
    if (key_ == "record_shapes" && json.is_number_integer())
      head.has_shapes = json.get<std::int64_t>() != 0;
  }

  void readField(const nlohmann::json& json, const std::string& text) {
    if (key_ == "ph" && json.is_string()) phase_ = text;
    if (key_ == "name" && json.is_string()) name_ = toPlainText(text, 256);
    if (key_ == "cat" && json.is_string()) category_ = toPlainText(text, 64);
    if (key_ == "tid" && json.is_number_integer()) event_.thread = json.get<std::int64_t>();
    if (key_ != "ts" && key_ != "dur") return;
    const auto ns = json.is_number() ? kinetoNanoseconds(text) : std::nullopt;
    wrong_ = wrong_ || !ns || (key_ == "dur" && *ns > kLongestKinetoNs);
    (key_ == "ts" ? event_.begin_ns : duration_ns_) = ns.value_or(0);
  }

  void finishEvent() {
    if (phase_ != "X") return;
    ++head.events;
    if (wrong_) {
      ++head.left_out;
      return;
    }
    event_.end_ns = event_.begin_ns + duration_ns_;
    event_.name = name_;
    event_.category = category_;
    std::ranges::copy(arguments_, event_.arguments.begin());
    take_(event_);
  }

  const Take& take_;
  const EventFilter* filter_ = nullptr;
  int depth_ = 0;
  bool in_events_ = false, wrong_ = false;
  std::string key_, phase_;
  std::int64_t duration_ns_ = 0;
  KinetoEvent event_;
  std::string name_, category_;  ///< these and arguments_ hold the texts of event_
  std::array<std::string, kKinetoArguments> arguments_;
  std::optional<PartBuilder> part_;  ///< the part that is being read and kept as a document
};

}  // namespace

KinetoHead readKineto(const std::string& path, const EventFilter::IsRead& is_read,
                      const std::function<void(const KinetoEvent&)>& take, bool cleaned) {
  std::ifstream file(path, std::ios::binary);  // can be larger than the memory
  if (!file) throw inputError(path + ": cannot be read");
  GzipReader gzip(file);
  std::istream inflated(&gzip);
  KinetoHandler handler(take);
  EventFilter filter(file.peek() == kFirstByteOfGzip ? inflated : file, is_read,
                     [&](const PlainEvent& event) { return handler.takePlain(event); });
  handler.setFilter(filter);
  std::istream in(&filter);
  if (cleaned) {
    CleanedJson clean(in);
    std::istream text(&clean);
    nlohmann::json::sax_parse(text, &handler);
    handler.head.cleaned = clean.changes();
  } else {
    nlohmann::json::sax_parse(in, &handler);
  }
  handler.head.events += filter.leftOut();
  if (!gzip.damage().empty()) handler.head.damage = gzip.damage();
  return std::move(handler.head);
}

}  // namespace ringscope::traces
