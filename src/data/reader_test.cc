#include <gtest/gtest.h>
#include <matio.h>
#include <stdlib.h>  // mkdtemp
#include <zlib.h>

#include <clocale>
#include <cmath>
#include <fstream>
#include <limits>
#include <memory>
#include <random>
#include <sstream>

#include "data/generators.h"
#include "data/source.h"
#include "support.h"

namespace kalstream {
namespace {

namespace fs = std::filesystem;
using namespace std::string_literals;
using namespace std::string_view_literals;
using Names = std::vector<std::string>;
using Numbers = std::vector<double>;
using Lines = std::vector<std::size_t>;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
constexpr double kInf = std::numeric_limits<double>::infinity();

class ReaderTest : public testing::Test {
 protected:
  ReaderTest() {
    std::string pattern = (fs::temp_directory_path() / "kalstream_reader_XXXXXX").string();
    folder_ = mkdtemp(pattern.data());
  }
  ~ReaderTest() override { fs::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  std::string write(const std::string& name, std::string_view text) const {
    std::ofstream(path(name), std::ios::binary) << text;
    return path(name);
  }

  Dataset read(const std::string& name, std::string_view text, Names targets = {}) const {
    return read_dataset(write(name, text), {.fields = {.targets = std::move(targets)}});
  }

  /// The message of the DataError, without the folder; a note when there was none.
  std::string error_of(const std::string& name, const Names& targets = {}) const {
    try {
      read_dataset(path(name), {.fields = {.targets = targets}});
    } catch (const DataError& error) {
      const std::string what = error.what();
      const std::string prefix = (folder_ / "").string();
      return what.starts_with(prefix) ? what.substr(prefix.size()) : "no path in: " + what;
    }
    return "no error";
  }

  std::string error(const std::string& name, std::string_view text,
                    const Names& targets = {}) const {
    write(name, text);
    return error_of(name, targets);
  }

  fs::path folder_;
};

/// NaN equals NaN here.
void expect_numbers(const Numbers& actual, const Numbers& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (std::isnan(expected[i]))
      EXPECT_TRUE(std::isnan(actual[i])) << "at " << i;
    else
      EXPECT_EQ(actual[i], expected[i]) << "at " << i;
  }
}

void expect_contains(const std::string& text, const std::string& part) {
  EXPECT_NE(text.find(part), std::string::npos) << text;
}

// CSV and its kin.

TEST_F(ReaderTest, CsvWithHeader) {
  const Dataset data = read("data.csv", "a,b,y\n1,2,3\n4,5,6\n");
  EXPECT_EQ(data.name, "data");
  EXPECT_EQ(data.source, path("data.csv"));
  EXPECT_EQ(data.input_names, (Names{"a", "b"}));
  EXPECT_EQ(data.target_names, Names{"y"});
  EXPECT_EQ(data.inputs, (Numbers{1, 2, 4, 5}));
  EXPECT_EQ(data.targets, (Numbers{3, 6}));
  EXPECT_EQ(data.lines, (Lines{2, 3}));
}

TEST_F(ReaderTest, CsvWithoutHeader) {
  const Dataset data = read("data.csv", "2,NA,3\n4,5,6");
  EXPECT_EQ(data.input_names, (Names{"x1", "x2"}));
  EXPECT_EQ(data.target_names, Names{"x3"});
  expect_numbers(data.inputs, {2, kNaN, 4, 5});
  EXPECT_EQ(data.lines, (Lines{1, 2}));
}

TEST_F(ReaderTest, CsvSkipsMarkCommentsAndBlankLines) {
  const Dataset data = read(
      "data.CSV", "\xef\xbb\xbf# made by hand\r\n\r\na,y\r\n  \t\r\n2,3\r\n #no\r\n4,5\r\n\r\n");
  EXPECT_EQ(data.input_names, Names{"a"});
  EXPECT_EQ(data.inputs, (Numbers{2, 4}));
  EXPECT_EQ(data.targets, (Numbers{3, 5}));
  EXPECT_EQ(data.lines, (Lines{5, 7}));
}

TEST_F(ReaderTest, CsvQuotes) {
  const Dataset data =
      read("data.csv", "\"a \"\"b\"\",c\", \"two\nlines\" ,y\n\"2\",\"\",\"-1e1\"\n");
  EXPECT_EQ(data.input_names, (Names{"a \"b\",c", "two\nlines"}));
  expect_numbers(data.inputs, {2, kNaN});
  EXPECT_EQ(data.targets, Numbers{-10});
  EXPECT_EQ(data.lines, Lines{3});
}

TEST_F(ReaderTest, DelimitersAreDetected) {
  EXPECT_EQ(read("a.csv", "a;\"b,c,d\";y\n2;3;4\n").inputs, (Numbers{2, 3}));
  EXPECT_EQ(read("a.txt", "a;b;y\n2;3;4\n").inputs, (Numbers{2, 3}));
  EXPECT_EQ(read("a.txt", "a,b,y\n2,3,4\n").inputs, (Numbers{2, 3}));
  EXPECT_EQ(read("a.txt", "first a\tb\ty\n2\t3\t4\n").input_names, (Names{"first a", "b"}));
  EXPECT_EQ(read("a.dat", "  a  b   y \r\n 2  3 \t4\r\n").inputs, (Numbers{2, 3}));
  EXPECT_EQ(read("a.dat", "2 3 4").targets, Numbers{4});
}

TEST_F(ReaderTest, TsvKeepsEmptyFields) {
  const Dataset data = read("a.tsv", "a, b\tb\ty\n\t3\t4\n\t\t\n");
  EXPECT_EQ(data.input_names, (Names{"a, b", "b"}));
  expect_numbers(data.inputs, {kNaN, 3, kNaN, kNaN});
  expect_numbers(data.targets, {4, kNaN});
}

TEST_F(ReaderTest, NumbersInAllTheirSpellings) {
  const Dataset data = read("a.csv", "x,y\n +1.5 ,-.5\n5.,1E3\n1e-400,-0\n0001,4e-320\n");
  EXPECT_EQ(data.inputs, (Numbers{1.5, 5, 0, 1}));
  EXPECT_EQ(data.targets, (Numbers{-.5, 1000, 0, 4e-320}));
}

TEST_F(ReaderTest, MissingMarkers) {
  const Dataset data = read("a.csv", "x,y\n2,\n2,nan\n2,NaN\n2,-nan\n2,NA\n2,na\n2,NULL\n2, ? \n");
  expect_numbers(data.targets, Numbers(8, kNaN));
}

TEST_F(ReaderTest, NumbersDoNotDependOnTheLocale) {
  const char* const german = std::setlocale(LC_ALL, "de_DE.UTF-8");
  const Dataset csv = read("a.csv", "2.5,3.5\n");
  const Dataset json = read("a.jsonl", "[2.5,3.5]\n");
  std::setlocale(LC_ALL, "C");
  EXPECT_EQ(csv.inputs, Numbers{2.5}) << (german == nullptr ? "in the C locale" : german);
  EXPECT_EQ(json.inputs, Numbers{2.5});
}

TEST_F(ReaderTest, MaxRowsStopsReading) {
  const std::string file = write("a.csv", "x,y\n2,3\n4,5\nrubbish\n");
  EXPECT_EQ(read_dataset(file, {.max_rows = 2}).targets, (Numbers{3, 5}));
}

TEST_F(ReaderTest, BadFieldsAreNamed) {
  EXPECT_EQ(
      error("data.csv", "x1,x2,x3\n1,2,3\n\n4,5,abc\n"),
      "data.csv:4: 'abc' in \"x3\" is not a number; write one, or nothing (in JSON null) if it "
      "is missing");
  for (const char* text : {"1 2", "1.2.3", "0x10", "+-1", "++1", "+", "1e", "--", "1_000"})
    expect_contains(error("a.csv", std::string("x,y\n2,3\n2,") + text + "\n"),
                    "a.csv:3: '" + std::string(text) + "' in \"y\" is not a number; ");
  for (const char* text : {"inf", "-Infinity", "1e999", "-1e400"}) {
    const std::string message =
        "'" + std::string(text) + "' in \"x2\" is infinite or beyond the range of numbers; ";
    expect_contains(error("a.csv", std::string("2,") + text + "\n"), "a.csv:1: " + message);
  }
}

TEST_F(ReaderTest, LongAndUnprintableTextIsTamed) {
  const std::string text = error("a.csv", "x,y\n1,\x01" + std::string(10000, 'z') + "\n");
  EXPECT_LT(text.size(), 250u);
  EXPECT_EQ(text.find('\x01'), std::string::npos);
}

TEST_F(ReaderTest, RaggedRows) {
  const std::string message = " columns; complete the row (an empty field marks a missing value)";
  expect_contains(error("a.csv", "x,y\n1,2\n1\n"),
                  "a.csv:3: the row has 1 fields, but there are 2");
  expect_contains(error("a.csv", "x,y\n1,2,\n"), "a.csv:2: the row has 3 fields, but there are 2");
  expect_contains(error("a.dat", "1 2\n1 2 3\n"), message);
}

TEST_F(ReaderTest, OpenQuote) {
  expect_contains(error("a.csv", "x,y\n1,\"2\n3,4\n"), "a.csv:2: a quote is opened");
}

// Files.

TEST_F(ReaderTest, FilesWithoutData) {
  for (const char* name : {"a.csv", "a.tsv", "a.txt", "a.dat", "a.jsonl", "a.ndjson", "a.arff"})
    for (const char* text : {"", "\n", "\xef\xbb\xbf", " \r\n\n"})
      expect_contains(error(name, text), std::string(name) + ": holds no data; ");
  expect_contains(error("a.csv", "x,y\n"), "a.csv: holds column names but no rows; ");
  expect_contains(error("a.arff", "@attribute x real\n@data\n"), "a.arff: holds column names but");
}

TEST_F(ReaderTest, FilesThatCannotBeRead) {
  EXPECT_EQ(error_of("none.csv"), "none.csv: does not exist; check the path");
  fs::create_directory(path("folder.csv"));
  EXPECT_EQ(error_of("folder.csv"), "folder.csv: is a directory; name a file in it");
  expect_contains(error("a.xlsx", "PK\3\4\0\0"s), "a.xlsx: is no text, nor anything else that can");
  expect_contains(error("a.csv", "\xff\xfex"), "save it as UTF-8");
}

// Columns.

TEST_F(ReaderTest, TargetsByNameAndNumber) {
  const Dataset data = read("a.csv", "a,0,c,a b\n5,6,7,8\n", {"a b", "0", "1"});
  EXPECT_EQ(data.target_names, (Names{"a b", "0", "a"}));
  EXPECT_EQ(data.targets, (Numbers{8, 6, 5}));
  EXPECT_EQ(data.inputs, Numbers{7});
  // The name wins over the number.
  EXPECT_EQ(read("a.csv", "b,0,1,2\n5,6,7,8\n", {"2"}).targets, Numbers{8});
}

TEST_F(ReaderTest, BadTargets) {
  const std::string text = "a,b,c,c\n2,3,4,5\n";
  expect_contains(
      error("a.csv", text, {"z"}),
      "a.csv:2: there is no field \"z\" to be the target; there are \"a\", \"b\", \"c\", "
      "\"c.2\"");
  for (const char* unknown : {"", "0", "5", "-1", "1.0", " a", "99999999999999999999"})
    expect_contains(error("a.csv", text, {unknown}), "there is no field");
  expect_contains(error("a.csv", text, {"a", "b", "1"}), "\"a\" is named twice as target; ");
  EXPECT_EQ(read("a.csv", text, {"4"}).input_names, (Names{"a", "b", "c"}));
  EXPECT_EQ(read("a.csv", text, {"c.2"}).targets, Numbers{5});
}

TEST_F(ReaderTest, ATimeSeriesHasNoInputs) {
  for (const Dataset& data :
       {read("a.csv", "y\n2\n3\n"), read("a.csv", "2\n3\n"), read("a.csv", "bias,y\n1,2\n1,3\n"),
        read("a.txt", "2\n3\n"), read("a.jsonl", "[2]\n[3]\n")}) {
    EXPECT_EQ(data.n_inputs(), 0U);
    EXPECT_EQ(data.rows(), 2U);
    EXPECT_TRUE(data.x(1).empty());
    EXPECT_EQ(data.targets, (Numbers{2, 3}));
  }
  EXPECT_EQ(read("a.csv", "x,y\n2,3\n", {"x", "y"}).targets, (Numbers{2, 3}));
}

TEST_F(ReaderTest, InputsCanBeChosen) {
  const std::string file = write("a.csv", "a,b,bias,y\n2,3,1,4\n5,6,1,7\n");
  const auto choose = [&](Names targets, Names inputs) {
    return read_dataset(file,
                        {.fields = {.targets = std::move(targets), .inputs = std::move(inputs)}});
  };
  EXPECT_EQ(choose({}, {"b"}).inputs, (Numbers{3, 6}));
  EXPECT_EQ(choose({}, {"2", "a"}).input_names, (Names{"b", "a"}));
  EXPECT_EQ(choose({}, {}).input_names, (Names{"a", "b"}));
  EXPECT_TRUE(choose({"a"}, {"none"}).input_names.empty());
  const auto complaint = [&](const Names& targets, const Names& inputs) -> std::string {
    try {
      choose(targets, inputs);
    } catch (const DataError& error) {
      return error.what();
    }
    return "no error";
  };
  expect_contains(complaint({}, {"z"}), "there is no field \"z\" to be the input; ");
  expect_contains(complaint({}, {"a", "1"}), "\"a\" is named twice as input; ");
  expect_contains(complaint({"b"}, {"a", "b"}), "\"b\" is the target and cannot be the input");
}

TEST_F(ReaderTest, TextTimesAndNamelessColumnsAreNoInputs) {
  const Dataset data = read("a.csv",
                            ",when,weather,temp,load\n"
                            "0,2024-01-31 12:00,\"rain, snow\",2.5,10\n"
                            "1,2024-01-31 13:00,fine,3.5,\n");
  EXPECT_EQ(data.input_names, Names{"temp"});
  EXPECT_EQ(data.inputs, (Numbers{2.5, 3.5}));
  expect_numbers(data.targets, {10, kNaN});
  EXPECT_EQ(data.time_name, "when");
  EXPECT_EQ(data.times, (Names{"2024-01-31 12:00", "2024-01-31 13:00"}));
  constexpr std::int64_t hour = 3'600'000'000'000;
  EXPECT_EQ(data.moments[1] - data.moments[0], hour);
  EXPECT_EQ(data.moments[0], 1'706'702'400 * (hour / 3600));
  EXPECT_EQ(data.schema.time_form, TimeForm::year_first);
  EXPECT_EQ(data.schema.names(Role::left_out), (Names{"", "weather"}));
  EXPECT_EQ(data.dialect.delimiter, ',');
}

TEST_F(ReaderTest, RowsThatSayNothingYetWait) {
  // Units; values that are still missing; labels of other rows.
  EXPECT_EQ(read("a.csv", "t,y\nC,m\n2,3\n").lines, Lines{3});
  const Dataset gaps = read("a.csv", "a,y\nNA,NA\n2,3\n");
  expect_numbers(gaps.inputs, {kNaN, 2});
  EXPECT_EQ(gaps.lines, (Lines{2, 3}));
  const Dataset late = read("a.jsonl",
                            "{\"id\": 0, \"target\": 5}\n{\"id\": 1, \"a\": 2}\n"
                            "{\"id\": 1, \"target\": 7}\n{\"id\": 2, \"a\": 4, \"target\": 8}\n");
  EXPECT_EQ(late.labels.size(), 2U);
  EXPECT_EQ(late.inputs, (Numbers{2, 4}));
  expect_numbers(late.targets, {kNaN, 8});
  expect_contains(error("a.csv", "a,b\nx,y\nz,w\n"),
                  "a.csv:2: there is no number to be the target");
}

TEST_F(ReaderTest, BlankRowsOfASeriesAreMissing) {
  expect_numbers(read("a.csv", "y\n1\n\n3\n").targets, {1, kNaN, 3});
}

TEST_F(ReaderTest, NamesMayBeGiven) {
  const std::string file = write("a.csv", "2;3,5\n4;5\n");
  const Dataset data = read_dataset(file, {.columns = {"a", "y"}});
  EXPECT_EQ(data.input_names, Names{"a"});
  EXPECT_EQ(data.targets, (Numbers{3.5, 5}));
}

TEST_F(ReaderTest, ContentTellsTheFormat) {
  EXPECT_EQ(read("a.log", "{\"a\": 2, \"y\": 3}\n").targets, Numbers{3});
  EXPECT_EQ(read("a", "2|3\n").targets, Numbers{3});
  EXPECT_EQ(read("b", "% c\n@relation r\n@attribute y real\n@data\n3\n").targets, Numbers{3});
  EXPECT_EQ(read("a.json", "{\"a\": 2, \"y\": 3}\n").targets, Numbers{3});
  expect_contains(error("a.json", "a,b\n"), "a.json:1: invalid JSON");
}

std::string gzipped(const std::string& text) {
  z_stream z{};
  deflateInit2(&z, 9, Z_DEFLATED, 16 + MAX_WBITS, 9, Z_DEFAULT_STRATEGY);
  std::string out(text.size() + 100, '\0');
  z.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
  z.avail_in = static_cast<uInt>(text.size());
  z.next_out = reinterpret_cast<Bytef*>(out.data());
  z.avail_out = static_cast<uInt>(out.size());
  deflate(&z, Z_FINISH);
  out.erase(z.total_out);
  deflateEnd(&z);
  return out;
}

TEST_F(ReaderTest, CompressedFiles) {
  const std::string packed = gzipped("a,y\n2,3\n");
  const Dataset data = read("data.csv.gz", packed);
  EXPECT_EQ(data.name, "data");
  EXPECT_EQ(data.targets, Numbers{3});
  EXPECT_EQ(read("a.csv", packed).targets, Numbers{3});
  EXPECT_EQ(read("a.jsonl.GZ", gzipped("[2,3]\n")).targets, Numbers{3});
  EXPECT_EQ(read("two.csv.gz", packed + gzipped("4,5\n")).targets, (Numbers{3, 5}));
  EXPECT_EQ(read("plain.csv.gz", "a,y\n2,3\n").targets, Numbers{3});
  for (std::size_t cut = 2; cut < packed.size(); ++cut)
    expect_contains(error("cut.csv.gz", packed.substr(0, cut)),
                    "cut.csv.gz: is compressed and not");
  std::string damaged = packed;
  damaged[12] ^= 0x55;
  expect_contains(error("bad.csv.gz", damaged), "bad.csv.gz: is compressed and ");
}

// JSON lines.

TEST_F(ReaderTest, JsonObjects) {
  const Dataset data = read("a.jsonl",
                            "{\"z\": 2, \"a\": null, \"y\": true}\r\n\n"
                            "{\"y\": -1.5e1, \"z\": 18446744073709551615, \"a\": false}\n");
  EXPECT_EQ(data.input_names, (Names{"z", "a"}));
  EXPECT_EQ(data.target_names, Names{"y"});
  expect_numbers(data.inputs, {2, kNaN, 18446744073709551615.0, 0});
  EXPECT_EQ(data.targets, (Numbers{1, -15}));
  EXPECT_EQ(data.lines, (Lines{1, 3}));
}

TEST_F(ReaderTest, JsonArrays) {
  const Dataset data = read("a.ndjson", "[2, 3, null]\n[4, -5, 6]", {"2"});
  EXPECT_EQ(data.input_names, (Names{"x1", "x3"}));
  expect_numbers(data.inputs, {2, kNaN, 4, 6});
  EXPECT_EQ(data.targets, (Numbers{3, -5}));
}

TEST_F(ReaderTest, BadJson) {
  const std::string good = "{\"x\":2,\"y\":3}\n";
  const auto message = [&](const std::string& line) { return error("a.jsonl", good + line); };
  expect_contains(message("{\"x\":2,"), "a.jsonl:2: invalid JSON at character ");
  expect_contains(message("{\"x\":\"abc\",\"y\":1}"),
                  "a.jsonl:2: 'abc' in \"x\" is not a number; ");
  expect_contains(message("{\"x\":1,\"y\":1e999}"),
                  "a.jsonl:2: '1e999' in \"y\" is infinite or beyond");
  expect_contains(message("{\"x\":1,\"x\":1}"), "the key \"x\" appears twice; ");
  expect_contains(message("[1,2]"), "objects and arrays are mixed; ");
  expect_contains(message("5"), "invalid JSON");
  expect_contains(error("a.jsonl", "{}"), "a.jsonl:1: the line has no values; ");
  expect_contains(error("a.jsonl", "[1,2]\n[1]"), "the array has 1 values, but the first had 2; ");
  // Fields may be left away; others are not taken notice of.
  const Dataset data = read("a.jsonl", good + "{\"y\":4}\n{\"z\":1,\"y\":5,\"x\":6}\n");
  expect_numbers(data.inputs, {2, kNaN, 6});
  EXPECT_EQ(data.targets, (Numbers{3, 4, 5}));
}

// ARFF.

TEST_F(ReaderTest, Arff) {
  const Dataset data = read("a.arff",
                            "% a comment\n@RELATION 'my data'\n\n@Attribute 'the x' NUMERIC\n"
                            "@attribute\tb Real\n@attribute y integer [0, 9]\n@DATA\n% more\n"
                            "2, ?, 3\n\n4,5,6\n");
  EXPECT_EQ(data.input_names, (Names{"the x", "b"}));
  EXPECT_EQ(data.target_names, Names{"y"});
  expect_numbers(data.inputs, {2, kNaN, 4, 5});
  EXPECT_EQ(data.targets, (Numbers{3, 6}));
  EXPECT_EQ(data.lines, (Lines{9, 11}));
}

TEST_F(ReaderTest, ArffTextAndDates) {
  const std::string text =
      "@relation r\n@attribute day date \"yyyy-MM-dd\"\n@attribute colour {red,'dark green',1}\n"
      "@attribute note string\n@attribute x real\n@attribute y real\n@data\n"
      "\"2024-01-31\",'dark green',?,2,3\n2024-02-01,1,\"a, b\",4,5\n";
  const Dataset data = read("a.arff", text);
  EXPECT_EQ(data.input_names, Names{"x"});
  EXPECT_EQ(data.times, (Names{"2024-01-31", "2024-02-01"}));
  const Dataset coloured =
      read_dataset(path("a.arff"), {.fields = {.inputs = {"colour"}, .categories = {"colour"}}});
  EXPECT_EQ(coloured.schema.fields[1].values, (Names{"dark green", "1"}));
  EXPECT_EQ(coloured.inputs.size(), 2 * Schema::category_slots);
}

TEST_F(ReaderTest, BadArff) {
  const std::string header = "@relation r\n@attribute x real\n";
  const auto message = [&](const std::string& rest) { return error("a.arff", header + rest); };
  expect_contains(message("@attribute s relational\n"), "\"s\" has the type 'relational', which");
  expect_contains(message("@attribute s\n"), "a.arff:3: the attribute has no name or no type; ");
  expect_contains(message("@attribute 's real\n"), "no name or no type; ");
  expect_contains(message("1,2\n"), "a.arff:3: '1,2' is not part of an ARFF header; ");
  expect_contains(message("@attribute y real\n@data\n1,2\n{0 1}\n"), "a.arff:6: sparse rows are");
  expect_contains(message("@attribute y real\n@data\n1,2\n1\n"), "a.arff:6: the row has 1 fields");
  expect_contains(message("@attribute y real\n@data\n1,2\n1,z\n"), "a.arff:6: 'z' in \"y\"");
}

// MAT.

struct Variable {
  std::string name;
  std::size_t rows;
  std::size_t columns;
  Numbers values;  // column after column
};

void write_mat(const std::string& path, std::vector<Variable> variables,
               matio_compression compression = MAT_COMPRESSION_ZLIB) {
  const std::unique_ptr<mat_t, decltype(&Mat_Close)> file(
      Mat_CreateVer(path.c_str(), nullptr, MAT_FT_MAT5), &Mat_Close);
  for (Variable& v : variables) {
    std::size_t dims[] = {v.rows, v.columns};
    matvar_t* const matrix = Mat_VarCreate(v.name.c_str(), MAT_C_DOUBLE, MAT_T_DOUBLE, 2, dims,
                                           v.values.data(), MAT_F_DONT_COPY_DATA);
    Mat_VarWrite(file.get(), matrix, compression);
    Mat_VarFree(matrix);
  }
}

TEST_F(ReaderTest, MatWithInputAndTargetSets) {
  write_mat(path("a.mat"), {{"note", 1, 1, {7}},
                            {"target_set", 2, 3, {8, 2, 3, 4, 5, 6}},
                            {"input_set", 2, 3, {10, 1, kNaN, 1, 30, 1}}});
  const Dataset data = read_dataset(path("a.mat"), {});
  EXPECT_EQ(data.input_names, Names{"x1"});
  EXPECT_EQ(data.target_names, (Names{"d1", "d2"}));
  expect_numbers(data.inputs, {10, kNaN, 30});
  EXPECT_EQ(data.targets, (Numbers{8, 2, 3, 4, 5, 6}));
  EXPECT_EQ(data.lines, (Lines{1, 2, 3}));

  const Dataset first = read_dataset(path("a.mat"), {.fields = {.targets = {"d2"}}, .max_rows = 1});
  EXPECT_EQ(first.input_names, (Names{"x1", "d1"}));
  EXPECT_EQ(first.targets, Numbers{2});
}

TEST_F(ReaderTest, MatWithOneMatrixEitherWayUp) {
  write_mat(path("wide.mat"), {{"m", 2, 3, {2, 10, 3, 20, 4, 30}}, {"rate", 1, 1, {50}}});
  write_mat(path("tall.mat"), {{"m", 3, 2, {2, 3, 4, 10, 20, 30}}}, MAT_COMPRESSION_NONE);
  write_mat(path("named.mat"), {{"nngc_data", 3, 2, {2, 3, 4, 10, 20, 30}}, {"m", 1, 2, {1, 2}}});
  for (const char* name : {"wide.mat", "tall.mat", "named.mat"}) {
    const Dataset data = read_dataset(path(name), {});
    EXPECT_EQ(data.inputs, (Numbers{2, 3, 4})) << name;
    EXPECT_EQ(data.targets, (Numbers{10, 20, 30})) << name;
    EXPECT_EQ(data.target_names, Names{"x2"}) << name;
  }
  EXPECT_EQ(read_dataset(path("wide.mat"), {.fields = {.targets = {"1"}}}).targets,
            (Numbers{2, 3, 4}));
}

TEST_F(ReaderTest, BadMat) {
  write_mat(path("two.mat"), {{"p", 1, 2, {1, 2}}, {"q", 2, 1, {1, 2}}});
  expect_contains(error_of("two.mat"), "two.mat: holds \"p\" (1x2), \"q\" (2x1); save input_set");
  write_mat(path("none.mat"), {});
  expect_contains(error_of("none.mat"), "none.mat: holds nothing; ");
  write_mat(path("sizes.mat"), {{"input_set", 1, 2, {1, 2}}, {"target_set", 1, 3, {1, 2, 3}}});
  expect_contains(error_of("sizes.mat"), "sizes.mat: input_set and target_set differ");
  write_mat(path("inf.mat"), {{"m", 2, 3, {1, 2, 3, -kInf, 5, 6}}});
  expect_contains(error_of("inf.mat"), "inf.mat:2: '-inf' in \"x2\" is infinite");
  write_mat(path("vector.mat"), {{"m", 1, 3, {1, 2, 3}}});
  EXPECT_EQ(read_dataset(path("vector.mat"), {}).targets, (Numbers{1, 2, 3}));
  fs::resize_file(path("vector.mat"), fs::file_size(path("vector.mat")) - 1);
  expect_contains(error_of("vector.mat"), "vector.mat: is damaged or not complete; ");
  for (const char* text : {"", "MATLAB", "a,b\n1,2\n"})
    expect_contains(error("text.mat", text), "text.mat: is not a MAT file of version 5; save it");
}

/// As MATLAB on a machine of the other byte order would write it: whole numbers in the smallest
/// type that holds them, and what has up to four bytes within its tag.
std::string big_endian_mat(std::string_view name, std::initializer_list<unsigned char> dims,
                           std::uint32_t type, const std::string& data) {
  const auto word = [](std::uint32_t w) {
    return std::string{static_cast<char>(w >> 24), static_cast<char>(w >> 16),
                       static_cast<char>(w >> 8), static_cast<char>(w)};
  };
  const auto element = [&](std::uint32_t t, std::string bytes) {
    const auto size = static_cast<std::uint32_t>(bytes.size());
    bytes.resize(size <= 4 ? 4 : (size + 7) / 8 * 8);
    return size <= 4 ? word(size << 16 | t) + bytes : word(t) + word(size) + bytes;
  };
  std::string sizes;
  for (const unsigned char n : dims) sizes += word(n);
  const std::string matrix = element(6, word(6) + word(0)) + element(5, sizes) +
                             element(1, std::string(name)) + element(type, data);
  return std::string(124, ' ') + "\1\0MI"s + word(14) +
         word(static_cast<std::uint32_t>(matrix.size())) + matrix;
}

TEST_F(ReaderTest, MatOfTheOtherByteOrderAndOfSmallNumbers) {
  EXPECT_EQ(read("bytes.mat", big_endian_mat("m", {1, 3}, 2, "\1\2\xff")).targets,
            (Numbers{1, 2, 255}));
  EXPECT_EQ(read("signed.mat", big_endian_mat("matrix", {1, 3}, 3, "\0\1\0\2\xff\xff"s)).targets,
            (Numbers{1, 2, -1}));
  EXPECT_EQ(read("floats.mat", big_endian_mat("m", {1, 2}, 7, "\x3f\x80\0\0\xc0\0\0\0"s)).targets,
            (Numbers{1, -2}));
}

TEST_F(ReaderTest, MatOfWrongSizesIsRefused) {
  const std::string sound = big_endian_mat("m", {1, 3}, 2, "\1\2\3");
  expect_contains(error("type.mat", big_endian_mat("m", {1, 3}, 8, "\1\2\3")),
                  "type.mat: the variable \"m\" (1x3) is damaged; save the file again");
  expect_contains(error("count.mat", big_endian_mat("m", {1, 4}, 2, "\1\2\3")),
                  "count.mat: the variable \"m\" (1x4) is damaged; save the file again");
  expect_contains(error("cube.mat", big_endian_mat("m", {1, 1, 3}, 2, "\1\2\3")),
                  "cube.mat: holds \"m\" (1x1x3, not a real matrix); ");
  for (std::size_t at = 128; at < sound.size(); ++at) {  // whatever byte is too large
    std::string damaged = sound;
    damaged[at] = '\x7f';
    try {
      read("damaged.mat", damaged);
    } catch (const DataError&) {
    }
  }
}

// The writer.

TEST_F(ReaderTest, WrittenCsvReadsBackExactly) {
  Dataset data;
  data.input_names = {"plain", "with,comma", " \"q\" ", "#"};
  data.target_names = {"y"};
  data.inputs = {0.1, 1e99, -5e-324, 2, kNaN, 1.0 / 3, -9.87654321e99, -0.0};
  data.targets = {-1e100, -kNaN};
  const std::string out = csv_of(data);
  EXPECT_EQ(out.substr(0, out.find('\n')), "plain,\"with,comma\",\" \"\"q\"\" \",\"#\",y");

  const Dataset back = read("a.csv", out);
  EXPECT_EQ(back.input_names, data.input_names);
  EXPECT_EQ(back.target_names, data.target_names);
  expect_numbers(back.inputs, data.inputs);
  expect_numbers(back.targets, data.targets);
}

// Anything at all.

/// Replaces, deletes, doubles or inserts a few bytes. Plain mt19937 output, so that the cases are
/// the same everywhere.
std::string mutated(std::string text, std::mt19937& random) {
  static constexpr std::string_view spice = "\"',;\t \r\n#%@{}[]?+-.eE019naif\\\0\xff"sv;
  for (std::size_t edits = random() % 6; edits > 0; --edits) {
    const std::size_t at = random() % (text.size() + 1);
    const char c = spice[random() % spice.size()];
    switch (random() % 4) {
      case 0:
        if (at < text.size()) text[at] = c;
        break;
      case 1:
        text.erase(at, random() % 4);
        break;
      case 2:
        text.insert(at, text.substr(random() % (text.size() + 1), random() % 20));
        break;
      default:
        text.insert(at, 1, c);
    }
  }
  return text;
}

std::string noise(std::mt19937& random) {
  std::string text(random() % 200, '\0');
  for (char& c : text) c = static_cast<char>(random() % 256);
  return text;
}

TEST_F(ReaderTest, AnyTextParsesOrThrowsDataError) {
  const std::vector<std::pair<const char*, const char*>> samples = {
      {"a.csv", "# c\n\"a\",b,y\n1,\"2\",3\r\n4,,-6e1\n\n1,NA,?\n"},
      {"a.csv", "1;2;3\n4;5;6\n7;8;9\n"},
      {"a.tsv", "a\tb\ty\n1\t2\t3\n\t5\tnan\n"},
      {"a.dat", " a b  y\n1 2\t3\n4 5 6\n"},
      {"a.jsonl", "{\"a\":1,\"b\":null,\"y\":true}\n{\"y\":1e3,\"a\":-2,\"b\":0.5}\n"},
      {"a.jsonl", "[1,2,3]\n[4,null,6]\n"},
      {"a.arff", "@relation r\n@attribute 'a b' real\n@attribute y numeric\n@data\n1,2\n?,3\n"},
      {"a.mat", "MATLAB 5.0 MAT-file"}};
  std::mt19937 random(20240229);
  int parsed = 0;
  int refused = 0;
  constexpr int part = test::one_in(4);
  for (int round = 0; round < 500 / part; ++round)
    for (const auto& [name, text] : samples) {
      const std::string input = round % 5 == 0 ? noise(random) : mutated(text, random);
      try {
        const Dataset data = read(name, input);
        ++parsed;
        EXPECT_EQ(data.inputs.size(), data.rows() * data.n_inputs());
        EXPECT_EQ(data.lines.size(), data.rows());
        for (double v : data.inputs) EXPECT_FALSE(std::isinf(v));
        for (double v : data.targets) EXPECT_FALSE(std::isinf(v));
      } catch (const DataError&) {
        ++refused;
      }  // Anything else fails the test.
    }
  EXPECT_GT(parsed, 500 / part);
  EXPECT_GT(refused, 500 / part);
}

}  // namespace
}  // namespace kalstream
