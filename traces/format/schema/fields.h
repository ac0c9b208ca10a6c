// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "traces/format/core/bytes.h"
#include "traces/format/schema/ids.h"
#include "traces/format/schema/names.h"

namespace ringscope::traces {

/// The fields of a record, named once: `static void visit(auto&& field, auto& record)` calls
/// field("name", record.member) for each field in the order of the format. Encoding, decoding, JSON
/// and the table in FORMAT.md all use it.
template <typename Record>
struct Fields;

template <typename T>
concept HasFields = requires(T& t) {
  Fields<T>::visit([](const char*, auto&) {}, t);
};

template <typename T>
struct IsId : std::false_type {};
template <typename Tag, typename Rep>
struct IsId<Id<Tag, Rep>> : std::true_type {};
template <typename T>
struct IsVector : std::false_type {};
template <typename T>
struct IsVector<std::vector<T>> : std::true_type {};
template <typename T>
struct IsOptional : std::false_type {};
template <typename T>
struct IsOptional<std::optional<T>> : std::true_type {};

/// Integers, flags, enumerations and ids: types that one column or one zigzag can hold.
template <typename T>
concept Scalar = std::integral<T> || NamedEnum<T> || IsId<T>::value;

template <Scalar T>
std::int64_t toInteger(const T& value) {
  if constexpr (IsId<T>::value)
    return value.value();
  else
    return static_cast<std::int64_t>(value);
}

/// Converts an integer to a T. Throws inputError when no T has this value.
template <Scalar T>
T fromInteger(std::int64_t value, const char* field) {
  if constexpr (NamedEnum<T>) {
    return checkedEnum<T>(value);
  } else {
    using Integer = typename std::conditional_t<IsId<T>::value, T, std::type_identity<T>>;
    auto refuse = [&] {
      throw inputError("the trace holds " + std::to_string(value) + " as " + field +
                       ", which cannot be");
    };
    if constexpr (IsId<T>::value) {
      using Rep = typename Integer::Value;
      if (value < -1 || value > std::numeric_limits<Rep>::max()) refuse();
      return T::of(static_cast<Rep>(value));
    } else if constexpr (std::is_same_v<T, bool>) {
      if (value != 0 && value != 1) refuse();
      return value != 0;
    } else if constexpr (std::is_same_v<T, std::uint64_t>) {
      return static_cast<T>(value);
    } else {
      if (value < static_cast<std::int64_t>(std::numeric_limits<T>::min()) ||
          value > static_cast<std::int64_t>(std::numeric_limits<T>::max()))
        refuse();
      return static_cast<T>(value);
    }
  }
}

inline Error unknownSetting(const std::string& source, const std::string& name) {
  return inputError(source + ": there is no setting '" + name + "'");
}

/// Writes an id as a number, -1 for none. nlohmann::json finds this function by its name.
template <typename Tag, typename Rep>
void to_json(nlohmann::json& json, const Id<Tag, Rep>& id) {
  json = id.value();
}

/// A field that a version of the format added to a record. Fields<Record>::kAdded lists these
/// fields of a record; a record without the list has had its fields in every version that can be
/// read.
struct AddedField {
  const char* name;
  int since;  ///< the first version with the field
};

/// Reports whether a record has a field in this version of the format.
template <typename Record>
bool hasField(const char* field, int version) {
  if constexpr (requires { Fields<Record>::kAdded; })
    for (const AddedField& added : Fields<Record>::kAdded)
      if (version < added.since && std::string_view(added.name) == field) return false;
  return true;
}

/// The writer of records as rows: each field after the other. Integers are zigzags and reals take
/// eight bytes. Texts and lists are preceded by their length.
class RowWriter {
 public:
  explicit RowWriter(ByteWriter& out) : out_(out) {}
  template <typename T>
  void operator()(const char*, const T& value) {
    put(value);
  }

 private:
  template <typename T>
  void put(const T& value) {
    if constexpr (Scalar<T>) {
      out_.zigzag(toInteger(value));
    } else if constexpr (std::is_same_v<T, double>) {
      out_.fixed(value);
    } else if constexpr (std::is_same_v<T, std::string>) {
      out_.text(value);
    } else if constexpr (std::is_same_v<T, Bytes>) {
      out_.text(std::string(value.begin(), value.end()));
    } else if constexpr (IsVector<T>::value) {
      out_.varint(value.size());
      for (const auto& item : value) put(item);
    } else if constexpr (IsOptional<T>::value) {
      out_.varint(value ? 1 : 0);
      if (value) put(*value);
    } else {
      Fields<T>::visit(*this, value);
    }
  }
  ByteWriter& out_;
};

/// The reader of records that RowWriter, or the RowWriter of an older version of the format, wrote.
class RowReader {
 public:
  RowReader(ByteReader& in, int version) : in_(in), version_(version) {}
  template <typename Record>
  void readRecord(Record& record) {
    Fields<Record>::visit(
        [this](const char* field, auto& value) {
          if (hasField<Record>(field, version_)) take(field, value);
        },
        record);
  }

 private:
  template <typename T>
  void take(const char* field, T& value) {
    if constexpr (Scalar<T>) {
      value = fromInteger<T>(in_.zigzag(), field);
    } else if constexpr (std::is_same_v<T, double>) {
      value = in_.fixed<double>();
    } else if constexpr (std::is_same_v<T, std::string>) {
      value = in_.text();
    } else if constexpr (std::is_same_v<T, Bytes>) {
      const std::string text = in_.text();
      value.assign(text.begin(), text.end());
    } else if constexpr (IsVector<T>::value) {
      // Every item takes at least one byte, so a list cannot claim more memory than its chunk has.
      const std::uint64_t count = in_.varint();
      if (count > in_.left())
        throw inputError(std::string("a list in the trace (") + field +
                         ") is longer than its chunk");
      value.clear();
      value.reserve(count < 4096 ? count : 4096);
      for (std::uint64_t i = 0; i < count; ++i) take(field, value.emplace_back());
    } else if constexpr (IsOptional<T>::value) {
      if (in_.varint() != 0) take(field, value.emplace());
    } else {
      readRecord(value);
    }
  }
  ByteReader& in_;
  int version_;
};

/// Returns a JSON object with one key per field. Enumerations are written by name.
template <typename T>
nlohmann::json toJson(const T& value) {
  if constexpr (NamedEnum<T>) {
    return name(value);
  } else if constexpr (IsId<T>::value) {
    return value.isNone() ? nlohmann::json() : nlohmann::json(value.value());
  } else if constexpr (IsVector<T>::value) {
    nlohmann::json list = nlohmann::json::array();
    for (const auto& item : value) list.push_back(toJson(item));
    return list;
  } else if constexpr (IsOptional<T>::value) {
    return value ? toJson(*value) : nlohmann::json();
  } else if constexpr (HasFields<T>) {
    nlohmann::json object = nlohmann::json::object();
    Fields<T>::visit([&](const char* field, const auto& v) { object[field] = toJson(v); }, value);
    return object;
  } else {
    return value;
  }
}

/// Sets the fields that `json` names and leaves the others unchanged. Throws inputError that names
/// `source` and the key when a key is unknown or its value is unknown or of the wrong type.
template <typename T>
void fromJson(const nlohmann::json& json, T& value, const std::string& source,
              const std::string& key = "") {
  auto refuse = [&](const std::string& why) {
    throw inputError(source + (key.empty() ? " " : ": '" + key + "' ") + why);
  };
  if constexpr (NamedEnum<T>) {
    if (!json.is_string()) refuse("has the wrong type");
    const auto found = findByName<T>(json.get<std::string>());
    if (!found)
      throw inputError(source + ": " +
                       unknownName(EnumNames<T>::kWhat, json.get<std::string>(), allNames<T>()));
    value = *found;
  } else if constexpr (std::is_same_v<T, bool>) {
    if (!json.is_boolean()) refuse("has the wrong type");
    value = json.get<bool>();
  } else if constexpr (std::is_same_v<T, std::string>) {
    if (!json.is_string()) refuse("has the wrong type");
    value = json.get<std::string>();
  } else if constexpr (std::is_same_v<T, double>) {
    if (!json.is_number()) refuse("has the wrong type");
    value = json.get<double>();
  } else if constexpr (Scalar<T>) {
    if (json.is_null() && IsId<T>::value) {
      value = T();
      return;
    }
    const bool fits = json.is_number_integer() &&
                      (std::is_same_v<T, std::uint64_t> || !json.is_number_unsigned() ||
                       json.get<std::uint64_t>() <= 0x7fffffffffffffffULL);
    if (!fits) refuse("has the wrong type");
    value = fromInteger<T>(json.get<std::int64_t>(), key.c_str());
  } else if constexpr (IsVector<T>::value) {
    if (!json.is_array()) refuse("has the wrong type");
    value.clear();
    for (const auto& item : json) fromJson(item, value.emplace_back(), source, key);
  } else if constexpr (IsOptional<T>::value) {
    if (json.is_null())
      value.reset();
    else
      fromJson(json, value.emplace(), source, key);
  } else {
    if (!json.is_object()) refuse("is not a JSON object");
    for (const auto& [name, item] : json.items()) {
      bool known = false;
      Fields<T>::visit(
          [&, &item = item, &name = name](const char* field, auto& v) {
            if (name != field) return;
            known = true;
            fromJson(item, v, source, name);
          },
          value);
      if (!known) throw unknownSetting(source, name);
    }
  }
}

}  // namespace ringscope::traces
