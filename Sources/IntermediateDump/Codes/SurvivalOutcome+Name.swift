extension SurvivalOutcome {
  public var word: String {
    switch self {
    case .previousHandlerRan: "may-have-survived"
    case .wentOn: "survived"
    case .discarded: "discarded"
    case .endedByHandler: "ended-by-handler"
    }
  }
}
