// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/control/requests.h"

#include "traces/format/core/error.h"

namespace ringscope::traces::control {

using nlohmann::json;

namespace {

BreakPoint pointFrom(const Fields& at) {
  BreakPoint point;
  for (const std::string& key : at.keys()) {
    if (key == "train_step")
      point.train_step = at.integer<std::int32_t>("train_step");
    else if (key == "layer")
      point.layer = Layer::of(at.integer<std::int32_t>("layer"));
    else if (key == "stage")
      point.stage = RingStep::of(at.integer<std::int32_t>("stage"));
    else if (key == "direction")
      point.direction = parse<Direction>(at.text("direction"));
    else
      throw usageError("a break is at train_step, layer, direction and stage; '" + key +
                       "' is none of them");
  }
  return point;
}

json jsonOf(const BreakPoint& point) {
  json at = json::object();
  if (point.train_step) at["train_step"] = *point.train_step;
  if (point.layer) at["layer"] = point.layer->value();
  if (point.direction) at["direction"] = name(*point.direction);
  if (point.stage) at["stage"] = point.stage->value();
  return at;
}

template <typename... Types>
Request decodeAs(const std::string& cmd, const Fields& fields,
                 const std::variant<Types...>* /*of these*/) {
  std::optional<Request> found;
  const auto take = [&]<typename Type>() {
    if (cmd != Type::kName) return false;
    if constexpr (requires { Type::from(fields); })
      found = Type::from(fields);
    else
      found = Type{};
    return true;
  };
  if (!(take.template operator()<Types>() || ...))
    throw usageError("'" + cmd + "' is not a request of version " +
                     std::to_string(kControlVersion));
  return *found;
}

}  // namespace

void Hello::put(json& object) const {
  object["control"] = version;
  object["at_end_of_input"] = stop_at_end_of_input ? "stop" : "finish";
}

Hello Hello::from(const Fields& fields) {
  const std::string at_end = fields.text("at_end_of_input", "finish");
  if (at_end != "finish" && at_end != "stop")
    throw usageError("\"at_end_of_input\" is finish or stop");
  return {fields.integer<int>("control"), at_end == "stop"};
}

void Step::put(json& object) const {
  object["unit"] = name(unit);
}

Step Step::from(const Fields& fields) {
  return {parse<StepUnit>(fields.text("unit", "stage"))};
}

bool BreakPoint::matches(const Place& place) const {
  return (!train_step || *train_step == place.train_step) && (!layer || *layer == place.layer) &&
         (!direction || *direction == place.direction) && (!stage || *stage == place.stage);
}

void Break::put(json& object) const {
  if (at) object["at"] = jsonOf(*at);
  if (on_divergence || on_non_finite) object["on"] = on_divergence ? "divergence" : "non_finite";
  if (on_divergence) object["ratio"] = ratio;
}

Break Break::from(const Fields& fields) {
  Break asked;
  if (fields.has("at")) asked.at = pointFrom(fields.object("at"));
  if (!fields.has("on")) return asked;
  const std::string on = fields.text("on");
  asked.on_divergence = on == "divergence";
  asked.on_non_finite = on == "non_finite";
  if (!asked.on_divergence && !asked.on_non_finite)
    throw usageError("a break is \"on\": \"divergence\" or \"non_finite\", or at a place");
  asked.ratio = fields.number("ratio", asked.ratio);
  if (!(asked.ratio > 0)) throw usageError("a break's \"ratio\" is above 0");
  return asked;
}

void Inject::put(json& object) const {
  object["mistake"] = mistake;
}
Inject Inject::from(const Fields& fields) {
  return {fields.text("mistake")};
}

void Lift::put(json& object) const {
  object["mistake"] = mistake;
}
Lift Lift::from(const Fields& fields) {
  return {fields.text("mistake")};
}

void SetCapture::put(json& object) const {
  object["policy"] = policy;
}
SetCapture SetCapture::from(const Fields& fields) {
  return {fields.text("policy")};
}

void ReadTensor::put(json& object) const {
  object["rank"] = rank.value();
  object["tensor"] = tensor;
  object["layer"] = layer.value();
  if (!lead.empty()) object["lead"] = lead;
  if (!begin.empty()) object["begin"] = begin;
  if (!end.empty()) object["end"] = end;
}

ReadTensor ReadTensor::from(const Fields& fields) {
  return {WorldRank::of(fields.integer<std::int32_t>("rank", 0)),
          fields.text("tensor"),
          Layer::of(fields.integer<std::int32_t>("layer", -1)),
          fields.integers("lead"),
          fields.integers("begin"),
          fields.integers("end")};
}

void Resend::put(json& object) const {
  object["first"] = first;
  object["last"] = last;
}

Resend Resend::from(const Fields& fields) {
  return {fields.integer<std::uint64_t>("first"), fields.integer<std::uint64_t>("last")};
}

void BreakOnNonFinite::put(json& object) const {
  object["on"] = on;
}
BreakOnNonFinite BreakOnNonFinite::from(const Fields& fields) {
  return {fields.flag("on")};
}

RequestHead RequestHead::from(const json& message) {
  const Fields fields(message, "a request");
  RequestHead head{fields.text("cmd"), std::nullopt};
  if (fields.has("id")) head.id = fields.integer<std::int64_t>("id");
  return head;
}

const char* nameFor(const Request& request) {
  return std::visit([](const auto& asked) { return asked.kName; }, request);
}

Bytes encodeRequest(const Request& request, std::optional<std::int64_t> id) {
  json object = {{"cmd", nameFor(request)}};
  if (id) object["id"] = *id;
  std::visit([&](const auto& asked) { asked.put(object); }, request);
  return encodeJsonFrame(object.dump(-1, ' ', false, json::error_handler_t::replace));
}

Request decodeRequest(const json& message) {
  const std::string cmd = RequestHead::from(message).cmd;
  return decodeAs(cmd, Fields(message, "the request '" + cmd + "'"),
                  static_cast<const Request*>(nullptr));
}

}  // namespace ringscope::traces::control
