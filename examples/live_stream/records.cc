// Lines of JSON or CSV in, a line with the prediction for each out, as `kalstream stream` does it.
//
//     records '{"target":"load","interval":0.9}' < loads.csv
#include <kalstream/stream.h>

#include <iostream>
#include <string>

int main(int argc, char** argv) {
  kalstream::Stream stream(argc > 1 ? argv[1] : "{}");
  for (std::string line; std::getline(std::cin, line);) {
    if (const auto answer = stream.take(line)) std::cout << *answer << std::endl;
    for (const std::string& remark : stream.take_remarks()) std::cerr << remark << '\n';
    stream.learn();  // while nobody waits for it
  }
}
