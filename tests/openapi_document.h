// Answers held against an OpenAPI document: the little of JSON Schema that ours uses.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <regex>
#include <set>
#include <string>
#include <vector>

#include "http_visitor.h"

namespace kalstream::test {

class OpenApi {
 public:
  using Json = nlohmann::json;

  explicit OpenApi(const std::string& text) : document_(Json::parse(text)) {}

  /// "GET /api/v1/streams/{name}", …
  std::set<std::string> routes() const {
    std::set<std::string> all;
    for (const auto& [path, item] : document_.at("paths").items())
      for (const auto& [method, operation] : item.items())
        if (method != "parameters") all.insert(upper(method) + ' ' + path);
    return all;
  }

  /// Fails the test unless the document says that this may be answered.
  void check(const std::string& method, const std::string& target, const HttpAnswer& answer) {
    const std::string path = path_of(target.substr(0, target.find('?')));
    if (path.empty()) {
      EXPECT_EQ(answer.status, 404) << target;
      return;
    }
    const Json& item = document_.at("paths").at(path);
    if (!item.contains(lower(method))) {
      EXPECT_EQ(answer.status, 405) << method << ' ' << target;
      return;
    }
    const Json& responses = item.at(lower(method)).at("responses");
    const std::string status = std::to_string(answer.status);
    ASSERT_TRUE(responses.contains(status))
        << method << ' ' << target << ": " << status << ' ' << answer.body;
    met_.insert(upper(method) + ' ' + path + ' ' + status);
    const Json& response = resolved(responses.at(status));
    if (!response.contains("content")) {
      EXPECT_EQ(answer.body, "") << target;
      return;
    }
    std::string type = answer.header("Content-Type");
    type = type.substr(0, type.find(';'));
    const Json& content = response.at("content");
    ASSERT_TRUE(content.contains(type)) << method << ' ' << target << ": " << type;
    if (type != "application/json") return;
    const std::string wrong = fault(Json::parse(answer.body), content.at(type).at("schema"), "");
    EXPECT_EQ(wrong, "") << method << ' ' << target << ": " << answer.body.substr(0, 2000);
  }

  /// "GET /api/v1/streams 200", …, of those that were checked.
  const std::set<std::string>& met() const { return met_; }

 private:
  static std::string lower(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::tolower(c); });
    return text;
  }
  static std::string upper(std::string text) {
    std::ranges::transform(text, text.begin(), [](unsigned char c) { return std::toupper(c); });
    return text;
  }
  static std::vector<std::string> parts(const std::string& path) {
    std::vector<std::string> all{""};
    for (const char c : path)
      if (c == '/')
        all.emplace_back();
      else
        all.back() += c;
    return all;
  }

  std::string path_of(const std::string& target) const {
    const auto asked = parts(target);
    for (const auto& [path, item] : document_.at("paths").items()) {
      const auto known = parts(path);
      const bool same = std::ranges::equal(
          asked, known, [](const auto& a, const auto& b) { return a == b || b.starts_with('{'); });
      if (same) return path;
    }
    return "";
  }

  const Json& resolved(const Json& schema) const {
    if (!schema.contains("$ref")) return schema;
    return document_.at(Json::json_pointer(schema.at("$ref").get<std::string>().substr(1)));
  }

  static bool is(const Json& value, const std::string& type) {
    if (type == "integer") return value.is_number_integer();
    if (type == "number") return value.is_number();
    if (type == "string") return value.is_string();
    if (type == "boolean") return value.is_boolean();
    if (type == "array") return value.is_array();
    if (type == "object") return value.is_object();
    return type == "null" && value.is_null();
  }

  /// What is wrong with the value; empty: nothing.
  std::string fault(const Json& value, const Json& reference, const std::string& where) const {
    const Json& schema = resolved(reference);
    if (schema.contains("oneOf")) {
      std::string all;
      for (const Json& one : schema.at("oneOf")) {
        const std::string wrong = fault(value, one, where);
        if (wrong.empty()) return "";
        all += wrong + " or ";
      }
      return all;
    }
    if (schema.contains("type")) {
      const Json& types = schema.at("type");
      const bool fits =
          types.is_array() ? std::ranges::any_of(types, [&](const Json& t) { return is(value, t); })
                           : is(value, types);
      if (!fits) return where + " is no " + types.dump();
    }
    if (schema.contains("enum") &&
        std::ranges::find(schema.at("enum"), value) == schema.at("enum").end())
      return where + " is none of those permitted";
    if (value.is_array() && schema.contains("items"))
      for (const Json& one : value)
        if (std::string wrong = fault(one, schema.at("items"), where + "[]"); !wrong.empty())
          return wrong;
    if (!value.is_object() || !schema.contains("properties")) return "";
    const Json& properties = schema.at("properties");
    for (const Json& name : schema.at("required"))
      if (!value.contains(name.get<std::string>())) return where + " lacks " + name.dump();
    for (const auto& [name, one] : value.items()) {
      const Json* expected = properties.contains(name) ? &properties.at(name) : nullptr;
      if (expected == nullptr && schema.contains("patternProperties"))
        for (const auto& [pattern, like] : schema.at("patternProperties").items())
          if (std::regex_search(name, std::regex(pattern))) expected = &like;
      if (expected == nullptr) return where + " has " + name;
      if (std::string wrong = fault(one, *expected, where + '.' + name); !wrong.empty())
        return wrong;
    }
    return "";
  }

  Json document_;
  std::set<std::string> met_;
};

}  // namespace kalstream::test
