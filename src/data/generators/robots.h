// Robot arms as sources of regression data: where an arm reaches, and how it moves.
#pragma once

#include <array>
#include <cstddef>
#include <span>

namespace kalstream {

struct Vec3 {
  double x = 0;
  double y = 0;
  double z = 0;
};

/// One revolute joint and the link behind it, standard Denavit–Hartenberg:
/// Rot_z(theta)·Trans_z(d)·Trans_x(a)·Rot_x(alpha). Angles in rad, lengths in m.
struct DhLink {
  double theta = 0;
  double d = 0;
  double a = 0;
  double alpha = 0;
};

/// Where a chain that starts at the origin ends.
Vec3 end_point(std::span<const DhLink> chain);

/// A joint's motor and its friction, on the motor's side of the gear.
struct Drive {
  double inertia = 0;  ///< J_m, kg m²
  double gear = 0;     ///< G
  double viscous = 0;  ///< B, N m s/rad
  double coulomb_forward = 0;
  double coulomb_backward = 0;  ///< ≤ 0, N m
};

/// A rigid link; r and I in its own frame, I about its centre of mass with principal axes.
struct ArmLink {
  DhLink dh{};  ///< theta is not used: it is the joint's position
  double m = 0;
  Vec3 r{};
  Vec3 I{};
  Drive drive{};
};

inline constexpr std::size_t arm_joints = 6;
using Joints = std::array<double, arm_joints>;
using JointMatrix = std::array<Joints, arm_joints>;

struct Arm {
  std::array<ArmLink, arm_joints> links;
  double gravity = 9.81;
};

struct ArmState {
  Joints q{};   ///< rad
  Joints qd{};  ///< rad/s
};

/// The Puma 560, base frame z upwards.
Arm puma560();

/// The same arm, motors included, with joints that turn freely.
Arm without_friction(Arm arm);

/// τ that gives the accelerations qdd.
Joints inverse_dynamics(const Arm& arm, const ArmState& state, const Joints& qdd);

/// qdd that the torques tau give.
Joints forward_dynamics(const Arm& arm, const ArmState& state, const Joints& tau);

/// M(q), symmetric and positive definite.
JointMatrix mass_matrix(const Arm& arm, const Joints& q);

}  // namespace kalstream
