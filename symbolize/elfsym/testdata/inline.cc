// What debug information has to tell of C++: functions inlined in each other,
// in namespaces, templates, lambdas, local classes, constructors.
#include <cstdio>
#include <string>
#include <vector>

volatile int sink;

namespace outer {
namespace {
inline int add(int a, int b) {
	sink += a;
	return a * 3 + b;
}
} // namespace

template <typename T> struct Box {
	T value;
	explicit Box(T v) : value(v) { sink += 1; }
	T scaled(int by) const {
		T r = value;
		for (int i = 0; i < by; i++)
			r += add(i, by) + sink;
		return r;
	}
};

class Shape {
public:
	virtual ~Shape() { sink++; }
	virtual double area() const = 0;
};

class Square : public Shape {
	double side;

public:
	explicit Square(double s) : side(s) {}
	double area() const override { return side * side + add(1, sink); }
};
} // namespace outer

static inline __attribute__((always_inline)) int deepest(int x) {
	sink = x;
	return sink + 1;
}
static inline __attribute__((always_inline)) int deeper(int x) {
	if (x > 3)
		return deepest(x) * 2;
	return deepest(x + 1);
}
static inline __attribute__((always_inline)) int deep(int x) {
	return deeper(x) + deeper(x + sink);
}

__attribute__((noinline)) int hot(int n) {
	int total = 0;
	for (int i = 0; i < n; i++) {
		total += deep(i);
		if (__builtin_expect(total < -1000, 0)) {
			printf("cold %d\n", deep(total));
			throw std::string("cold");
		}
	}
	return total;
}

__attribute__((noinline)) int local(int n) {
	struct Counter {
		int n;
		__attribute__((noinline)) int next() { return deepest(n++); }
	} c{n};
	auto twice = [&](int x) __attribute__((noinline)) { return deeper(x) + c.next(); };
	return twice(n) + c.next();
}

int main(int argc, char **) {
	std::vector<outer::Box<int>> boxes;
	for (int i = 0; i < argc + 10; i++)
		boxes.emplace_back(i);
	int total = 0;
	for (const auto &b : boxes)
		total += b.scaled(argc);
	outer::Shape *s = new outer::Square(argc);
	total += s->area();
	delete s;
	return (total + hot(argc) + local(argc)) & 1;
}
