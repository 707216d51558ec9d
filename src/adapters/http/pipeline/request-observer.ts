/** Notified of every request, for metrics. Its methods must be fast and must not throw. */
export interface RequestObserver {
  /**
   * @param operation its operationId; undefined if the request matched none
   * @param status undefined if the client disconnected before the response
   * @param error the number of an Error response
   * @param milliseconds from the end of the headers; undefined if the HTTP parser refused the request
   */
  requestEnded(
    operation: string | undefined,
    status: number | undefined,
    error: number | undefined,
    milliseconds: number | undefined,
  ): void;
  /** A request was refused for overload. */
  overloaded(): void;
}
