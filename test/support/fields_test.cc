#include "partitiontuner/support/fields.h"

#include <array>
#include <catch2/catch_test_macros.hpp>

namespace pt::fields_test {

// One struct of each kind of field.
namespace fields_test {

enum class Colour : uint8_t { kRed, kGreen };
constexpr std::array kColours = {Colour::kRed, Colour::kGreen};
std::string_view ColourName(Colour colour) { return colour == Colour::kRed ? "red" : "green"; }

using BoxId = StrongId<struct BoxTag>;

struct Side {
  int64_t length_ns = 0;
  std::optional<uint32_t> number;
  friend bool operator==(const Side&, const Side&) = default;
};

struct Box {
  std::string name;
  Colour colour = Colour::kRed;
  double weight = 1;
  bool open = false;
  uint64_t bytes = 0;
  std::vector<BoxId> after;
  std::map<std::string, std::vector<int64_t>> dims;
  Side lid;
  std::vector<Side> sides;
  std::map<int64_t, std::string> rows;
  std::string failure;
  int64_t time_ns = 0;
  friend bool operator==(const Box&, const Box&) = default;
};

void Fields(FieldVisitor& v, Side& side) {
  v.Closed();
  v.Field("length_ns", side.length_ns, FieldNote("how long").Within({0, 100, "{key} is {value}; expected 0 to 100"}));
  v.Field("number", side.number, FieldNote("which").Optional());
}

void Fields(FieldVisitor& v, Box& box) {
  v.Field("name", box.name, FieldNote("what it is called").NotEmpty());
  v.Word("colour", box.colour, kColours, ColourName, "of paint");
  v.Field("weight", box.weight, FieldNote("in kilograms (1)").Optional(), 1.0);
  v.Field("open", box.open, FieldNote("whether").AlwaysWritten());
  v.Field("bytes", box.bytes, "that it holds");
  v.Field("after", box.after, FieldNote("others").Below(3));
  v.Field("dims", box.dims, "by name");
  v.Field("lid", box.lid, FieldNote("its lid").Optional());
  v.Field("sides", box.sides, "its sides");
  v.Rows("rows", box.rows, "by number", "repeats a number", [&](int64_t& number, std::string& text) {
    v.Field("number", number, "once each");
    v.Field("text", text, "what it says");
  });
  std::string motto = "for people";
  v.Field("motto", motto, FieldNote("not read").ForPeople());
  v.Field("failure", box.failure, FieldNote("instead of a time").Optional());
  v.Unless("failure", !box.failure.empty(), [&] { v.Field("time_ns", box.time_ns, "what it took"); });
  v.Only("red", box.colour == Colour::kRed, [&] {
    uint64_t shade = 7;
    v.Field("shade", shade, "of red");
  });
}

namespace {

Box FullBox() {
  Box box;
  box.name = "b";
  box.colour = Colour::kGreen;
  box.weight = 2.5;
  box.bytes = 3;
  box.after = {BoxId(0u), BoxId(2u)};
  box.dims = {{"x", {1, 2}}, {"y", {}}};
  box.lid = {5, 4};
  box.sides = {{1, {}}, {2, 9}};
  box.rows = {{4, "four"}, {6, "six"}};
  box.time_ns = 8;
  return box;
}

constexpr const char* kFullText =
    R"({"name":"b","colour":"green","weight":2.5,"open":false,"bytes":3,"after":[0,2],"dims":{"x":[1,2],"y":[]},)"
    R"("lid":{"length_ns":5,"number":4},"sides":[{"length_ns":1},{"length_ns":2,"number":9}],)"
    R"("rows":[{"number":4,"text":"four"},{"number":6,"text":"six"}],"motto":"for people","time_ns":8})";

Result<Box> Read(const std::string& text) {
  Box box;
  PT_CHECK_OK(ReadFields(ParseJson(text, "text").value(), FileSource("file", "box.json"), box));
  return box;
}

// Of the full text with one part replaced.
Error ErrorWith(const std::string& part, const std::string& by) {
  std::string text = kFullText;
  const size_t at = text.find(part);
  REQUIRE(at != std::string::npos);
  const Result<Box> box = Read(text.replace(at, part.size(), by));
  INFO(text);
  REQUIRE_FALSE(box.ok());
  CHECK(box.error().code == ErrorCode::kInvalidInput);
  return box.error();
}
std::string MessageWith(const std::string& part, const std::string& by) { return ErrorWith(part, by).message; }

TEST_CASE("Fields, ReaderAndWriterAreInverses", "[support]") {
  CHECK(WriteJson(WriteFields(FullBox()), -1) == kFullText);
  const Result<Box> box = Read(kFullText);
  REQUIRE(box.ok());
  CHECK(*box == FullBox());
}

TEST_CASE("Fields, DefaultsAreLeftOutAndKept", "[support]") {
  Box box;
  box.name = "b";
  box.failure = "too small";
  const std::string text = WriteJson(WriteFields(box), -1);
  CHECK(text == R"({"name":"b","colour":"red","open":false,"bytes":0,"after":[],"dims":{},"sides":[],"rows":[],)"
                R"("motto":"for people","failure":"too small","shade":7})");
  const Result<Box> read = Read(text);
  REQUIRE(read.ok());
  CHECK(*read == box);
}

TEST_CASE("Fields, UnknownKeysAreIgnoredUnlessTheObjectIsClosed", "[support]") {
  std::string text = kFullText;
  CHECK(*Read(text.insert(1, R"("later":1,)")) == FullBox());
  const Error error = ErrorWith(R"({"length_ns":1})", R"({"lenght_ns":1})");
  CHECK(error.message == "file: sides[0]: unknown key 'lenght_ns'");
  CHECK(error.hint == "known are length_ns, number");
}

TEST_CASE("Fields, StructureThatIsWrongIsNamedWithItsPlace", "[support]") {
  CHECK(MessageWith(R"("name":"b",)", "") == "file: \"name\" is missing");
  CHECK(MessageWith(R"("name":"b")", R"("name":1)") == "file: \"name\" is not a string");
  CHECK(MessageWith("\"bytes\":3", "\"bytes\":-3") == "file: \"bytes\" is -3, below 0");
  CHECK(MessageWith("\"open\":false", "\"open\":0") == "file: \"open\" is not true or false");
  CHECK(MessageWith("\"number\":4}", "\"number\":1.5}") == "file: lid: \"number\" is not an integer");
  CHECK(MessageWith("{\"length_ns\":1}", "3") == "file: sides[0] is not an object");
  CHECK(MessageWith("\"x\":[1,2]", "\"x\":3") == "file: dims: \"x\" is not an array");
  CHECK(ErrorWith("\"x\":[1,2]", "\"x\":3").id == "json.field");
}

TEST_CASE("Fields, ContentThatIsWrongIsNamedWithItsPlace", "[support]") {
  CHECK(MessageWith(R"("name":"b")", R"("name":"")") == "file: name is empty");
  CHECK(MessageWith("\"green\"", "\"blue\"") == "file: unknown colour 'blue'; expected red or green");
  CHECK(MessageWith("[0,2]", "[0,3]") == "file: after holds 3, which is not an index below 3");
  CHECK(MessageWith("[1,2]", "[1,\"a\"]") == "file: dims: x holds \"a\", which is not an integer");
  CHECK(MessageWith("\"length_ns\":2", "\"length_ns\":101") == "file: sides[1]: length_ns is 101; expected 0 to 100");
  CHECK(MessageWith("\"number\":9", "\"number\":4294967296") ==
        "file: sides[1]: number is 4294967296, which is too large");
  CHECK(MessageWith("{\"number\":6", "{\"number\":4") == "file: rows[1]: repeats a number");
  CHECK(ErrorWith("[0,2]", "[0,3]").id == "box.json");
}

TEST_CASE("Fields, AnObjectMayNameItsErrors", "[support]") {
  const auto fields = [](FieldVisitor& v) {
    v.Object("inner", "says it for itself and those within", [&] {
      v.ErrorsAre("inner.error");
      v.Object("deep", "says nothing", [&] { v.Fail("is wrong"); });
    });
  };
  const Json json = ParseJson(R"({"inner": {"deep": {}}})", "text").value();
  const Status status = ReadFieldsBy(json, FileSource("file", "outer.error"), fields);
  REQUIRE_FALSE(status.ok());
  CHECK(status.error().id == "inner.error");
  CHECK(status.error().message == "file: inner.deep: is wrong");
}

TEST_CASE("Fields, AListMayHaveToHoldSomethingButNotItsItems", "[support]") {
  const auto read = [](const char* text) {
    std::vector<std::string> words;
    return ReadFieldsBy(ParseJson(text, "text").value(), FileSource("file", "error"),
                        [&](FieldVisitor& v) { v.Field("words", words, FieldNote("some").NotEmpty()); });
  };
  CHECK(read(R"({"words": [""]})").ok());
  CHECK(read(R"({"words": []})").error().message == "file: words is empty");
}

TEST_CASE("Fields, EntriesKeepTheOrderTheyAreGivenIn", "[support]") {
  std::vector<std::pair<std::string, int64_t>> read;
  const auto fields = [&](FieldVisitor& v) {
    v.Entries("by_name", {"sim:10", "sim:2"}, "numbers", [&](const std::string& name) {
      int64_t number = static_cast<int64_t>(name.size());
      v.Value(number, "how long the name is");
      if (v.reads()) read.emplace_back(name, number);
    });
  };
  const std::string text = R"({"by_name":{"sim:10":6,"sim:2":5}})";
  CHECK(WriteJson(WriteFieldsBy(fields), -1) == text);
  REQUIRE(ReadFieldsBy(ParseJson(text, "text").value(), FileSource("file", "error"), fields).ok());
  CHECK(read == std::vector<std::pair<std::string, int64_t>>{{"sim:10", 6}, {"sim:2", 5}});
}

TEST_CASE("Fields, AStructInMemoryIsHeldToTheSameRanges", "[support]") {
  CHECK(FieldFault(FullBox()).empty());
  Box box = FullBox();
  box.sides[1].length_ns = -1;
  CHECK(FieldFault(box) == "length_ns is -1; expected 0 to 100");
  box = FullBox();
  box.name.clear();
  CHECK(FieldFault(box) == "name is empty");
}

}  // namespace
}  // namespace fields_test
}  // namespace pt::fields_test
