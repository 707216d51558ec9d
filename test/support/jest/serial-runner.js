import TestRunner from 'jest-runner';

/** Runs one file at a time. */
export default class SerialRunner extends TestRunner {
  isSerial = true;
}
