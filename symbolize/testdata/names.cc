// Functions with all kinds of C++ names, each of which runs long enough to be sampled.
#include <string>
#include <vector>
#include <map>
#include <algorithm>
#include <functional>
#include <memory>
namespace ns { namespace {
struct Anon { int x; __attribute__((noinline)) int go(int n) const { volatile int s=0; for(int i=0;i<n;i++) s+=i*x; return s; } };
}
template <typename T, int N> struct Tmpl { T v[N];
  Tmpl() { for (int i=0;i<N;i++) v[i]=T(i); spin(2000); }
  ~Tmpl() { spin(2000); }
  __attribute__((noinline)) void spin(int n) const volatile { volatile int s=0; for(int i=0;i<n;i++) s+=i; }
  __attribute__((noinline)) T operator()(T a) const { volatile T s=a; for(int i=0;i<1000;i++) s=s+v[i%N]; return s; }
  template <class U> __attribute__((noinline)) U conv(const std::string& k, U u) { volatile U s=u; for(int i=0;i<1000;i++) s=s+k.size(); return s; }
  operator std::string() const { spin(1500); return "x"; }
};
template <class F> __attribute__((noinline)) int apply(F f, int n) { int s=0; for(int i=0;i<n;i++) s+=f(i); return s; }
struct Base { virtual int v(int) = 0; virtual ~Base() {} };
struct D : Base { __attribute__((noinline)) int v(int n) override { volatile int s=0; for(int i=0;i<n;i++) s+=i; return s; } };
__attribute__((noinline)) Anon& operator+=(Anon& a, int n) { volatile int s=0; for(int i=0;i<n;i++) s+=i; a.x+=s&1; return a; }
}
extern "C" __attribute__((noinline)) int plain_c(int n) { volatile int s=0; for(int i=0;i<n;i++) s+=i; return s; }
__attribute__((noinline)) void sorted(std::vector<std::string>& v) { std::sort(v.begin(), v.end(), [](const std::string& a, const std::string& b){ return a > b; }); }
__attribute__((noinline)) int local_type(int n) { struct L { __attribute__((noinline)) int m(int k) { volatile int s=0; for(int i=0;i<k;i++) s+=i; return s; } } l; return l.m(n); }
int main() {
  int r=0;
  for (int k=0;k<3000;k++) {
    ns::Anon a{k}; r+=a.go(2000); ns::operator+=(a,2000);
    ns::Tmpl<double,4> t; r+=t(1.0)+t.conv<long>("k",3L); std::string s=t; r+=s.size();
    r+=ns::apply([&](int i){ volatile int s=0; for(int j=0;j<50;j++) s+=j*k; return (int)s; }, 40);
    std::unique_ptr<ns::Base> b(new ns::D); r+=b->v(2000)+plain_c(2000)+local_type(2000);
    if (k%10==0) { std::vector<std::string> v; for(int i=0;i<200;i++) v.push_back(std::to_string(i*7919%1000)); sorted(v); std::map<std::string,int> m; for(auto&x:v) m[x]++; r+=m.size(); }
  }
  return r==42;
}
