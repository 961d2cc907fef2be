#include "data/generators/robots.h"

#include <cmath>
#include <numbers>

namespace kalstream {
namespace {

Vec3 operator+(Vec3 u, Vec3 v) { return {u.x + v.x, u.y + v.y, u.z + v.z}; }
Vec3 operator-(Vec3 u, Vec3 v) { return {u.x - v.x, u.y - v.y, u.z - v.z}; }
Vec3 operator*(double s, Vec3 v) { return {s * v.x, s * v.y, s * v.z}; }

double dot(Vec3 u, Vec3 v) { return u.x * v.x + u.y * v.y + u.z * v.z; }

Vec3 cross(Vec3 u, Vec3 v) {
  return {u.y * v.z - u.z * v.y, u.z * v.x - u.x * v.z, u.x * v.y - u.y * v.x};
}

// A link's axes and origin p, seen from the base; R = [x y z].
struct Frame {
  Vec3 x{1, 0, 0};
  Vec3 y{0, 1, 0};
  Vec3 z{0, 0, 1};
  Vec3 p{};

  // R v.
  Vec3 to_base(Vec3 v) const { return v.x * x + v.y * y + v.z * z; }
  // Rᵀ v.
  Vec3 from_base(Vec3 v) const { return {dot(x, v), dot(y, v), dot(z, v)}; }
};

// F·Rot_z(θ)·Trans_z(d)·Trans_x(a)·Rot_x(α): x and y turn about z, p moves along z and the new x,
// then y and z turn about the new x.
Frame next_frame(const Frame& F, const DhLink& link) {
  const double c = std::cos(link.theta);
  const double s = std::sin(link.theta);
  const double ca = std::cos(link.alpha);
  const double sa = std::sin(link.alpha);
  const Vec3 x = c * F.x + s * F.y;
  const Vec3 y = c * F.y - s * F.x;
  return {x, ca * y + sa * F.z, ca * F.z - sa * y, F.p + link.d * F.z + link.a * x};
}

// Frame i of joint position q_i; frames[0] is the base.
std::array<Frame, arm_joints + 1> frames_of(const Arm& arm, const Joints& q) {
  std::array<Frame, arm_joints + 1> frames;
  for (std::size_t i = 0; i < arm_joints; ++i) {
    DhLink dh = arm.links[i].dh;
    dh.theta = q[i];
    frames[i + 1] = next_frame(frames[i], dh);
  }
  return frames;
}

// Seen from the joint: G² J_m q̈ + G² B q̇ + |G| C(q̇), C one constant for each direction.
double drive_torque(const Drive& drive, double qd, double qdd) {
  const double G = drive.gear;
  const double coulomb = qd > 0 ? drive.coulomb_forward : qd < 0 ? drive.coulomb_backward : 0;
  return G * G * (drive.inertia * qdd + drive.viscous * qd) + std::abs(G) * coulomb;
}

// x = A⁻¹ b for symmetric positive definite A, by elimination: its pivots are positive.
Joints solve(JointMatrix A, Joints b) {
  constexpr std::size_t n = arm_joints;
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = k + 1; i < n; ++i) {
      const double l = A[i][k] / A[k][k];
      for (std::size_t j = k; j < n; ++j) A[i][j] -= l * A[k][j];
      b[i] -= l * b[k];
    }
  for (std::size_t i = n; i-- > 0;) {
    for (std::size_t j = i + 1; j < n; ++j) b[i] -= A[i][j] * b[j];
    b[i] /= A[i][i];
  }
  return b;
}

}  // namespace

Vec3 end_point(std::span<const DhLink> chain) {
  Frame F;
  for (const DhLink& link : chain) F = next_frame(F, link);
  return F.p;
}

Arm puma560() {
  constexpr double right = std::numbers::pi / 2;
  return {.links = {{
              {.dh = {.alpha = right},
               .I = {0, 0.35, 0},
               .drive = {200e-6, -62.6111, 1.48e-3, 0.395, -0.435}},
              {.dh = {.a = 0.4318},
               .m = 17.4,
               .r = {-0.3638, 0.006, 0.2275},
               .I = {0.13, 0.524, 0.539},
               .drive = {200e-6, 107.815, 0.817e-3, 0.126, -0.071}},
              {.dh = {.d = 0.15005, .a = 0.0203, .alpha = -right},
               .m = 4.8,
               .r = {-0.0203, -0.0141, 0.070},
               .I = {0.066, 0.086, 0.0125},
               .drive = {200e-6, -53.7063, 1.38e-3, 0.132, -0.105}},
              {.dh = {.d = 0.4318, .alpha = right},
               .m = 0.82,
               .r = {0, 0.019, 0},
               .I = {1.8e-3, 1.3e-3, 1.8e-3},
               .drive = {33e-6, 76.0364, 71.2e-6, 11.2e-3, -16.9e-3}},
              {.dh = {.alpha = -right},
               .m = 0.34,
               .I = {0.3e-3, 0.4e-3, 0.3e-3},
               .drive = {33e-6, 71.923, 82.6e-6, 9.26e-3, -14.5e-3}},
              {.m = 0.09,
               .r = {0, 0, 0.032},
               .I = {0.15e-3, 0.15e-3, 0.04e-3},
               .drive = {33e-6, 76.686, 36.7e-6, 3.96e-3, -10.5e-3}},
          }}};
}

Arm without_friction(Arm arm) {
  for (ArmLink& link : arm.links)
    link.drive = {.inertia = link.drive.inertia, .gear = link.drive.gear};
  return arm;
}

// Recursive Newton–Euler in base coordinates. Outwards, with z the joint's axis and l its link:
//   ω ← ω + z q̇;  ω̇ ← ω̇ + z q̈ + ω × z q̇;  v̇ ← v̇ + ω̇ × l + ω × (ω × l),  v̇₀ = −g;
//   F = m v̇_c;  N = I ω̇ + ω × I ω.
// Inwards: f ← f + F;  n ← n + l × f_next + (c − p) × F + N about the joint;  τ = zᵀn + drive.
Joints inverse_dynamics(const Arm& arm, const ArmState& state, const Joints& qdd) {
  const auto frames = frames_of(arm, state.q);
  std::array<Vec3, arm_joints> F;
  std::array<Vec3, arm_joints> N;
  std::array<Vec3, arm_joints> centre;
  Vec3 omega;
  Vec3 omega_dot;
  Vec3 v_dot{0, 0, arm.gravity};
  for (std::size_t i = 0; i < arm_joints; ++i) {
    const ArmLink& link = arm.links[i];
    const Frame& frame = frames[i + 1];
    const Vec3 spin = state.qd[i] * frames[i].z;
    omega_dot = omega_dot + qdd[i] * frames[i].z + cross(omega, spin);
    omega = omega + spin;
    const auto acceleration_of = [&](Vec3 arm_to_point) {
      return cross(omega_dot, arm_to_point) + cross(omega, cross(omega, arm_to_point));
    };
    const auto inertia_times = [&](Vec3 v) {
      const Vec3 u = frame.from_base(v);
      return frame.to_base({link.I.x * u.x, link.I.y * u.y, link.I.z * u.z});
    };
    v_dot = v_dot + acceleration_of(frame.p - frames[i].p);
    const Vec3 c = frame.to_base(link.r);
    centre[i] = frame.p + c;
    F[i] = link.m * (v_dot + acceleration_of(c));
    N[i] = inertia_times(omega_dot) + cross(omega, inertia_times(omega));
  }

  Joints tau;
  Vec3 f;
  Vec3 n;
  for (std::size_t i = arm_joints; i-- > 0;) {
    const Vec3 p = frames[i].p;
    n = n + cross(frames[i + 1].p - p, f) + cross(centre[i] - p, F[i]) + N[i];
    f = f + F[i];
    tau[i] = dot(frames[i].z, n) + drive_torque(arm.links[i].drive, state.qd[i], qdd[i]);
  }
  return tau;
}

// Column j of M(q) is the torque of a unit acceleration of joint j, at rest and without gravity.
JointMatrix mass_matrix(const Arm& arm, const Joints& q) {
  Arm weightless = arm;
  weightless.gravity = 0;
  JointMatrix M;
  for (std::size_t j = 0; j < arm_joints; ++j) {
    Joints unit{};
    unit[j] = 1;
    const Joints column = inverse_dynamics(weightless, {.q = q}, unit);
    for (std::size_t i = 0; i < arm_joints; ++i) M[i][j] = column[i];
  }
  return M;
}

// q̈ = M(q)⁻¹ (τ − h(q, q̇)), h the torque of zero acceleration.
Joints forward_dynamics(const Arm& arm, const ArmState& state, const Joints& tau) {
  Joints b = inverse_dynamics(arm, state, {});
  for (std::size_t i = 0; i < arm_joints; ++i) b[i] = tau[i] - b[i];
  return solve(mass_matrix(arm, state.q), b);
}

}  // namespace kalstream
