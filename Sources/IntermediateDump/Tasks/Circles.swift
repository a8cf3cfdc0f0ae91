/// Finds the cycles in a graph in which each node leads to at most one other node.
package enum Circles {
  /// Returns each cycle once, as its nodes in the order in which each leads to the next.
  ///
  /// - Parameters:
  ///   - nodes: the nodes from which walks begin; the order decides at which node a cycle begins.
  ///   - next: the node to which a node leads; nil for the end of a walk.
  package static func all<Node: Hashable>(
    from nodes: some Sequence<Node>, next: (Node) -> Node?
  ) -> [[Node]] {
    /// The number of the walk that reached each node first.
    var walks: [Node: Int] = [:]
    var circles: [[Node]] = []
    for (walk, start) in nodes.enumerated() {
      var path: [Node] = []
      var node: Node? = start
      while let known = node, walks[known] == nil {
        walks[known] = walk
        path.append(known)
        node = next(known)
      }
      guard let end = node, walks[end] == walk, let first = path.firstIndex(of: end) else {
        continue
      }
      circles.append(Array(path[first...]))
    }
    return circles
  }
}
