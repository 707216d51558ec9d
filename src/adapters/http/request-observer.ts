/** Who is told of every request, for metrics: what it does must be quick and must not throw. */
export interface RequestObserver {
  /**
   * A request is over.
   *
   * @param status undefined if the client left before the answer
   * @param error its number, if the answer is one
   * @param milliseconds from the end of the headers; undefined if the HTTP parser refused them
   */
  answered(status: number | undefined, error: number | undefined, milliseconds: number | undefined): void;
  /** A request was refused because too much was under way. */
  overloaded(): void;
}
