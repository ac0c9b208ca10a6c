// SPDX-License-Identifier: Apache-2.0
#include "traces/exchange/control/answers.h"

namespace ringscope::traces::control {

using nlohmann::json;

void StopReport::put(json& object) const {
  object["run_id"] = run_id;
  object["place"] = toJson(place);
  object["chunk_watermark"] = chunk_watermark;
  object["run_clock_ns"] = run_clock_ns;
  object["over"] = over;
}

StopReport StopReport::from(const Fields& fields) {
  return {fields.text("run_id"), fields.place("place"),
          fields.integer<std::uint64_t>("chunk_watermark"),
          fields.integer<std::int64_t>("run_clock_ns"), fields.flag("over", false)};
}

void StateReport::put(json& object) const {
  object["state"] = {{"running", running},
                     {"paused", paused},
                     {"over", over},
                     {"place", toJson(place)},
                     {"run_id", run_id},
                     {"run_clock_ns", run_clock_ns},
                     {"events", events},
                     {"dropped_events", dropped_events},
                     {"failed_sinks", failed_sinks}};
}

StateReport StateReport::from(const Fields& fields) {
  const Fields state = fields.object("state");
  return {state.flag("running"),
          state.flag("paused"),
          state.flag("over"),
          state.place("place"),
          state.text("run_id"),
          state.integer<std::int64_t>("run_clock_ns"),
          state.integer<std::uint64_t>("events"),
          state.integer<std::uint64_t>("dropped_events"),
          state.texts("failed_sinks")};
}

void ChangedFrom::put(json& object) const {
  object["from_train_step"] = from_train_step;
}

ChangedFrom ChangedFrom::from(const Fields& fields) {
  return {fields.integer<std::int32_t>("from_train_step")};
}

void LiveTensorEntry::put(json& object) const {
  object["rank"] = rank.value();
  object["tensor"] = tensor;
  object["layer"] = layer.value();
  object["place"] = place;
  object["dtype"] = dtype;
  object["shape"] = shape;
}

LiveTensorEntry LiveTensorEntry::from(const Fields& fields) {
  return {WorldRank::of(fields.integer<std::int32_t>("rank")),
          fields.text("tensor"),
          Layer::of(fields.integer<std::int32_t>("layer")),
          fields.text("place"),
          fields.text("dtype"),
          fields.integers("shape")};
}

void TensorList::put(json& object) const {
  json list = json::array();
  for (const LiveTensorEntry& entry : tensors) entry.put(list.emplace_back());
  object["tensors"] = std::move(list);
}

TensorList TensorList::from(const Fields& fields) {
  TensorList list;
  for (const Fields& entry : fields.objects("tensors"))
    list.tensors.push_back(LiveTensorEntry::from(entry));
  return list;
}

void TensorSlice::put(json& object) const {
  of.put(object);
  object["begin"] = begin;
  object["end"] = end;
  object["values"] = toJson(values);
}

TensorSlice TensorSlice::from(const Fields& fields) {
  return {LiveTensorEntry::from(fields), fields.integers("begin"), fields.integers("end"),
          fields.numbers("values")};
}

void Resent::put(json& object) const {
  object["sent"] = sent;
}

Resent Resent::from(const Fields& fields) {
  return {fields.integer<std::uint64_t>("sent")};
}

void Flushed::put(json& object) const {
  object["dropped_events"] = dropped_events;
  object["dropped_tensors"] = dropped_tensors;
}

Flushed Flushed::from(const Fields& fields) {
  return {fields.integer<std::uint64_t>("dropped_events"),
          fields.integer<std::uint64_t>("dropped_tensors")};
}

}  // namespace ringscope::traces::control
