/** Who is told of every request, for metrics: what it does must be quick and must not throw. */
export interface RequestObserver {
  /**
   * A request is over.
   *
   * @param operation which one was asked for; undefined if none
   * @param status undefined if the client left before the response
   * @param error the number of an Error response
   * @param milliseconds from the end of the headers; undefined if the HTTP parser refused them
   */
  answered(
    operation: string | undefined,
    status: number | undefined,
    error: number | undefined,
    milliseconds: number | undefined,
  ): void;
  /** A request was refused because too much was under way. */
  overloaded(): void;
}
